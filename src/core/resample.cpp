#include "resample.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "parallel.hpp"

namespace volt {
namespace {

constexpr uint64_t kSmall = 10;  // counts below this are drawn from a table

// The finaliser of splitmix64: a number that looks random for each number given.
uint64_t scramble(uint64_t x) {
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ x >> 27) * 0x94D049BB133111EBull;
  return x ^ x >> 31;
}

// Uniform in [0, 1).
double uniform(uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

// A stream of random numbers that depends on its key alone.
class Stream {
 public:
  explicit Stream(uint64_t key) : state_(scramble(key)) {}
  double next() { return uniform(bits()); }
  uint64_t bits() { return scramble(state_++); }

 private:
  uint64_t state_;
};

// Poisson numbers of a large mean: transformed rejection (Hoermann 1993, PTRS).
uint64_t large_poisson(double mean, Stream& stream) {
  const double b = 0.931 + 2.53 * std::sqrt(mean), a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), limit = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    const double u = stream.next() - 0.5, v = stream.next();
    const double us = 0.5 - std::fabs(u);
    const double k = std::floor((2 * a / us + b) * u + mean + 0.43);
    if (us >= 0.07 && v <= limit) return static_cast<uint64_t>(k);
    if (k < 0 || (us < 0.013 && v > us)) continue;
    if (std::log(v) + std::log(inverse_alpha) - std::log(a / (us * us) + b) <=
        -mean + k * std::log(mean) - std::lgamma(k + 1))
      return static_cast<uint64_t>(k);
  }
}

// Poisson numbers of a few small means, each by one uniform number and its cumulative table.
class SmallPoisson {
 public:
  explicit SmallPoisson(double scale) {
    for (uint64_t count = 0; count < kSmall; ++count) {
      const double mean = scale * static_cast<double>(count);
      double term = std::exp(-mean), sum = 0;
      for (int k = 0; k < kTerms; ++k) {
        sum += term;
        cumulative_[count][k] = sum;
        term *= mean / (k + 1);
      }
    }
  }
  uint64_t draw(uint64_t count, double u) const {
    const double* table = cumulative_[count];
    int k = 0;
    while (k < kTerms - 1 && u >= table[k]) ++k;
    return static_cast<uint64_t>(k);
  }

 private:
  static constexpr int kTerms = 48;  // a mean below 10 exceeds this once in 1e17
  double cumulative_[kSmall][kTerms];
};

// Poisson numbers with means a little below the counts add up to somewhat fewer words than there
// are; given their sum they are a multinomial sample of that size, and the missing words are drawn
// one by one. So the whole is an exact multinomial sample.
class Sampler {
 public:
  Sampler(const uint64_t* counts, size_t words)
      : counts_(counts), ends_(words),
        scale_((std::partial_sum(counts, counts + words, ends_.begin()),
                std::max(0.0, 1 - 6 / std::sqrt(static_cast<double>(ends_.back()))))),
        small_(scale_) {}

  uint64_t total() const { return ends_.back(); }

  uint64_t poisson(size_t w, uint64_t key) const {
    if (counts_[w] < kSmall) return small_.draw(counts_[w], uniform(scramble(key + w)));
    const double mean = scale_ * static_cast<double>(counts_[w]);
    Stream stream(key + w);
    if (mean >= kSmall) return large_poisson(mean, stream);
    uint64_t arrivals = 0;  // only in a tiny corpus
    for (double t = -std::log1p(-stream.next()); t < mean; t -= std::log1p(-stream.next())) ++arrivals;
    return arrivals;
  }

  // Draw the missing words of a draw whose numbers stand `stride` apart.
  void complete(uint64_t* draw, size_t stride, uint64_t sum, uint64_t key) const {
    Stream stream(~key);
    for (; sum < total(); ++sum) {
      // A number below the total; the bias of the product is below total / 2^64.
      __extension__ using Wide = unsigned __int128;
      const uint64_t at = static_cast<uint64_t>((static_cast<Wide>(stream.bits()) * total()) >> 64);
      ++draw[(std::upper_bound(ends_.begin(), ends_.end(), at) - ends_.begin()) * stride];
    }
  }

 private:
  const uint64_t* counts_;
  std::vector<uint64_t> ends_;
  const double scale_;
  const SmallPoisson small_;
};

}  // namespace

std::vector<uint64_t> resample(const uint64_t* counts, size_t words, size_t draws, uint64_t seed,
                               unsigned threads) {
  std::vector<uint64_t> out(words * draws, 0);
  if (words == 0 || draws == 0) return out;
  const Sampler sampler(counts, words);
  if (sampler.total() == 0) return out;
  threads = std::max(1u, threads);
  auto key_of = [&](size_t d, uint64_t attempt) {
    return scramble(scramble(seed) ^ scramble(~static_cast<uint64_t>(d)) ^ scramble(attempt << 32));
  };
  std::vector<uint64_t> keys;
  for (size_t d = 0; d < draws; ++d) keys.push_back(key_of(d, 0));

  // Word by word, to write the rows in order.
  std::vector<std::vector<uint64_t>> sums(threads, std::vector<uint64_t>(draws, 0));
  run_parallel(threads, [&](unsigned i) {
    std::vector<uint64_t>& mine = sums[i];
    for (size_t w = words * i / threads; w < words * (i + 1) / threads; ++w)
      for (size_t d = 0; d < draws; ++d) mine[d] += out[w * draws + d] = sampler.poisson(w, keys[d]);
  });
  run_parallel(threads, [&](unsigned i) {
    for (size_t d = i; d < draws; d += threads) {
      uint64_t sum = 0, key = keys[d];
      for (const auto& part : sums) sum += part[d];
      for (uint64_t attempt = 1; sum > sampler.total(); ++attempt) {  // once in a billion
        sum = 0;
        key = key_of(d, attempt);
        for (size_t w = 0; w < words; ++w) sum += out[w * draws + d] = sampler.poisson(w, key);
      }
      sampler.complete(out.data() + d, draws, sum, key);
    }
  });
  return out;
}

}  // namespace volt
