#include "proposing/resample.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/parallel.hpp"

namespace volt {
namespace {

constexpr uint64_t kSmall = 10;  // counts below this are drawn from a table
constexpr uint64_t kOneByOne = 1 << 17;  // missing words are drawn one by one up to here

__extension__ using Wide = unsigned __int128;

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

// Poisson numbers of one large mean: transformed rejection (Hoermann 1993, PTRS).
class LargePoisson {
 public:
  explicit LargePoisson(double mean)
      : mean_(mean), log_mean_(std::log(mean)), b_(0.931 + 2.53 * std::sqrt(mean)),
        a_(-0.059 + 0.02483 * b_), log_inverse_alpha_(std::log(1.1239 + 1.1328 / (b_ - 3.4))),
        limit_(0.9277 - 3.6224 / (b_ - 2)) {}

  uint64_t draw(Stream stream) const {
    for (;;) {
      const double u = stream.next() - 0.5, v = stream.next();
      const double us = 0.5 - std::fabs(u);
      const double k = std::floor((2 * a_ / us + b_) * u + mean_ + 0.43);
      if (us >= 0.07 && v <= limit_) return static_cast<uint64_t>(k);
      if (k < 0 || (us < 0.013 && v > us)) continue;
      if (std::log(v) + log_inverse_alpha_ - std::log(a_ / (us * us) + b_) <=
          -mean_ + k * log_mean_ - std::lgamma(k + 1))
        return static_cast<uint64_t>(k);
    }
  }

 private:
  double mean_, log_mean_, b_, a_, log_inverse_alpha_, limit_;
};

// A Poisson number of a small mean: how many arrivals in that time.
uint64_t arrivals(double mean, Stream stream) {
  uint64_t number = 0;
  for (double t = -std::log1p(-stream.next()); t < mean; t -= std::log1p(-stream.next())) ++number;
  return number;
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
      for (int g = 0; g < kGuides; ++g)
        guide_[count][g] = static_cast<uint8_t>(search(count, 0, static_cast<double>(g) / kGuides));
    }
  }
  uint64_t draw(uint64_t count, double u) const {
    return search(count, guide_[count][static_cast<int>(u * kGuides)], u);
  }

 private:
  static constexpr int kTerms = 48;  // a mean below 10 exceeds this once in 1e17
  static constexpr int kGuides = 1024;

  uint64_t search(uint64_t count, int k, double u) const {
    while (k < kTerms - 1 && u >= cumulative_[count][k]) ++k;
    return static_cast<uint64_t>(k);
  }

  double cumulative_[kSmall][kTerms];
  uint8_t guide_[kSmall][kGuides];  // where the search starts
};

// Poisson numbers with means a little below the counts add up to somewhat fewer words than there
// are; given their sum they are a multinomial sample of that size, and the missing words are drawn
// after them. So the whole is an exact multinomial sample.
class Sampler {
 public:
  Sampler(const uint64_t* counts, size_t words)
      : counts_(counts), ends_(words),
        scale_((std::partial_sum(counts, counts + words, ends_.begin()),
                std::max(0.0, 1 - 4 / std::sqrt(static_cast<double>(ends_.back()))))),
        small_(scale_), guide_(words) {
    // guide_[g]: the word that holds number g * total / words, where the search for a number starts.
    for (size_t g = 0, w = 0; g < words; ++g) {
      while (ends_[w] <= scaled(g, total(), words)) ++w;
      guide_[g] = w;
    }
  }

  uint64_t total() const { return ends_.back(); }
  // number * by / of
  static uint64_t scaled(uint64_t number, uint64_t by, uint64_t of) {
    return static_cast<uint64_t>(static_cast<Wide>(number) * by / of);
  }

  // Calls take(d, number) with the Poisson number of word w in every draw.
  template <class Take>
  void poisson(size_t w, const std::vector<uint64_t>& keys, Take&& take) const {
    const double mean = scale_ * static_cast<double>(counts_[w]);
    if (counts_[w] < kSmall) {
      for (size_t d = 0; d < keys.size(); ++d)
        take(d, small_.draw(counts_[w], uniform(scramble(keys[d] + w))));
    } else if (mean >= kSmall) {
      const LargePoisson large(mean);
      for (size_t d = 0; d < keys.size(); ++d) take(d, large.draw(Stream(keys[d] + w)));
    } else {  // only in a tiny corpus
      for (size_t d = 0; d < keys.size(); ++d) take(d, arrivals(mean, Stream(keys[d] + w)));
    }
  }

  // Draw the missing words of a draw whose numbers stand `stride` apart: one by one, after most of
  // them in the same way as all before, where they are very many.
  void complete(uint64_t* draw, size_t stride, uint64_t sum, uint64_t key) const {
    Stream stream(~key);
    std::vector<uint64_t> more(ends_.size());
    while (total() - sum > std::max<uint64_t>(kOneByOne, more.size())) {
      const double missing = static_cast<double>(total() - sum);
      const double share = (missing - 4 * std::sqrt(missing)) / static_cast<double>(total());
      uint64_t added = 0;
      for (size_t w = 0; w < more.size(); ++w) {
        const double mean = share * static_cast<double>(counts_[w]);
        const Stream own(stream.bits());
        added += more[w] = mean < kSmall ? arrivals(mean, own) : LargePoisson(mean).draw(own);
      }
      if (added > total() - sum) continue;
      for (size_t w = 0; w < more.size(); ++w) draw[w * stride] += more[w];
      sum += added;
    }
    for (; sum < total(); ++sum) {
      // A number below the total; the bias of the product is below total / 2^64.
      const uint64_t at = static_cast<uint64_t>((static_cast<Wide>(stream.bits()) * total()) >> 64);
      size_t w = guide_[scaled(at, guide_.size(), total())];
      while (ends_[w] <= at) ++w;
      ++draw[w * stride];
    }
  }

 private:
  const uint64_t* counts_;
  std::vector<uint64_t> ends_;
  const double scale_;
  const SmallPoisson small_;
  std::vector<size_t> guide_;
};

}  // namespace

HugeVector<uint64_t> resample(const uint64_t* counts, size_t words, size_t draws, uint64_t seed,
                              unsigned threads) {
  HugeVector<uint64_t> out(words * draws, 0);
  if (words == 0 || draws == 0) return out;
  if (std::all_of(counts, counts + words, [](uint64_t count) { return count == 0; })) return out;
  const Sampler sampler(counts, words);
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
      sampler.poisson(w, keys, [&](size_t d, uint64_t number) { mine[d] += out[w * draws + d] = number; });
  });
  run_parallel(threads, [&](unsigned i) {
    for (size_t d = i; d < draws; d += threads) {
      uint64_t sum = 0, key = keys[d];
      for (const auto& part : sums) sum += part[d];
      for (uint64_t attempt = 1; sum > sampler.total(); ++attempt) {  // once in thirty thousand
        sum = 0;
        key = key_of(d, attempt);
        for (size_t w = 0; w < words; ++w)
          sampler.poisson(w, {key}, [&](size_t, uint64_t number) { sum += out[w * draws + d] = number; });
      }
      sampler.complete(out.data() + d, draws, sum, key);
    }
  });
  return out;
}

}  // namespace volt
