#include "choosing/thin.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "base/hash.hpp"
#include "base/stop.hpp"

namespace volt {
namespace {

constexpr double kShare = 0.1;
constexpr uint64_t kExact = 1000;  // up to this count the distribution function is summed

template <size_t n>
double polynomial(const std::array<double, n>& coefficients, double x) {
  double sum = 0;
  for (size_t i = n; i-- > 0;) sum = sum * x + coefficients[i];
  return sum;
}

// The inverse of the normal distribution function: algorithm AS 241 (PPND16) of Wichura, Applied
// Statistics 37 (1988), 477-484. The relative error is about 1e-16.
double normal_quantile(double p) {
  static constexpr std::array<double, 8> a{
      3.3871328727963666080e0, 1.3314166789178437745e+2, 1.9715909503065514427e+3,
      1.3731693765509461125e+4, 4.5921953931549871457e+4, 6.7265770927008700853e+4,
      3.3430575583588128105e+4, 2.5090809287301226727e+3};
  static constexpr std::array<double, 8> b{
      1.0, 4.2313330701600911252e+1, 6.8718700749205790830e+2, 5.3941960214247511077e+3,
      2.1213794301586595867e+4, 3.9307895800092710610e+4, 2.8729085735721942674e+4,
      5.2264952788528545610e+3};
  static constexpr std::array<double, 8> c{
      1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0,
      3.64784832476320460504e0, 1.27045825245236838258e0, 2.41780725177450611770e-1,
      2.27238449892691845833e-2, 7.74545014278341407640e-4};
  static constexpr std::array<double, 8> d{
      1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
      1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4,
      1.05075007164441684324e-9};
  static constexpr std::array<double, 8> e{
      6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0,
      2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
      2.71155556874348757815e-5, 2.01033439929228813265e-7};
  static constexpr std::array<double, 8> f{
      1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
      7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7,
      2.04426310338993978564e-15};
  const double q = p - 0.5;
  if (std::fabs(q) <= 0.425) {
    const double r = 0.180625 - q * q;
    return q * polynomial(a, r) / polynomial(b, r);
  }
  const double r = std::sqrt(-std::log(q < 0 ? p : 1 - p));
  const double x = r <= 5 ? polynomial(c, r - 1.6) / polynomial(d, r - 1.6)
                          : polynomial(e, r - 5) / polynomial(f, r - 5);
  return q < 0 ? -x : x;
}

}  // namespace

double thinning_level(const uint8_t* word, size_t bytes, uint64_t seed, uint64_t split) {
  return static_cast<double>(seeded_hash(word, bytes, seed, split) >> 11) * 0x1p-53;
}

uint64_t held_out(uint64_t count, double level) {
  if (count > kExact) {
    if (level <= 0) return 0;
    const double n = static_cast<double>(count);
    const double x = n * kShare + std::sqrt(n * kShare * (1 - kShare)) * normal_quantile(level) + 0.5;
    return x < 1 ? 0 : std::min(count, static_cast<uint64_t>(x));
  }
  // F(h) = P(0) + ... + P(h), where P(h + 1) = P(h) * (n - h) / (h + 1) * p / (1 - p)
  static const std::array<double, kExact + 1> none = [] {
    std::array<double, kExact + 1> powers{1.0};
    for (size_t n = 1; n <= kExact; ++n) powers[n] = powers[n - 1] * (1 - kShare);
    return powers;
  }();
  double probability = none[count], sum = probability;
  uint64_t h = 0;
  for (; sum < level && h < count; ++h) {
    probability *= static_cast<double>(count - h) / static_cast<double>(h + 1) * (kShare / (1 - kShare));
    sum += probability;
  }
  return h;
}

std::vector<uint64_t> thin(const WordView& words, uint64_t seed, uint64_t split) {
  std::vector<uint64_t> held(words.words);
  for (size_t w = 0; w < words.words; ++w) {
    poll();
    held[w] = held_out(words.counts[w], thinning_level(words.begin(w), words.bytes(w), seed, split));
  }
  return held;
}

std::vector<int64_t> find_words(const WordView& whole, const WordView& part) {
  constexpr uint32_t kEmpty = 0xFFFFFFFF;
  if (whole.words >= kEmpty || part.words >= kEmpty) throw std::length_error("more than 4,294,967,294 word types");
  const auto hash_of = [](const WordView& words, size_t w) {
    const uint8_t* p = words.begin(w);
    size_t bytes = words.bytes(w);
    uint64_t hash = bytes;
    for (; bytes >= 8; p += 8, bytes -= 8) hash = mix(load(p) ^ hash, 0x9E3779B97F4A7C15ull);
    uint64_t rest = 0;
    std::memcpy(&rest, p, bytes);
    return mix(rest ^ hash, 0xE7037ED1A0B428DBull);
  };
  // The table is of the smaller list, and the larger one is looked up: 20 languages of one list of 800,000 words
  // take 0.4 s, not 3 s. Open addressing, linear probing. A slot is a row and 32 bits of its hash.
  struct Slot {
    uint32_t row, tag;
  };
  const bool part_is_less = part.words <= whole.words;
  const WordView &less = part_is_less ? part : whole, &more = part_is_less ? whole : part;
  size_t slots = 64;
  while (slots < 2 * less.words) slots *= 2;
  std::vector<Slot> table(slots, {kEmpty, 0});
  for (size_t w = 0; w < less.words; ++w) {
    poll();
    const uint64_t hash = hash_of(less, w);
    size_t i = hash & (slots - 1);
    while (table[i].row != kEmpty) i = (i + 1) & (slots - 1);
    table[i] = {static_cast<uint32_t>(w), static_cast<uint32_t>(hash >> 32)};
  }
  std::vector<int64_t> rows(part.words, -1);
  for (size_t w = 0; w < more.words; ++w) {
    poll();
    const uint64_t hash = hash_of(more, w);
    const auto tag = static_cast<uint32_t>(hash >> 32);
    const size_t bytes = more.bytes(w);
    for (size_t i = hash & (slots - 1); table[i].row != kEmpty; i = (i + 1) & (slots - 1)) {
      const uint32_t row = table[i].row;
      if (table[i].tag != tag || less.bytes(row) != bytes ||
          std::memcmp(less.begin(row), more.begin(w), bytes) != 0)
        continue;
      rows[part_is_less ? row : w] = static_cast<int64_t>(part_is_less ? w : row);
      break;
    }
  }
  return rows;
}

}  // namespace volt
