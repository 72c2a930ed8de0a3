#include "proposing/curve.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <mutex>

#include "base/stop.hpp"

namespace volt {
namespace {

// Tokens are prefetched so many merges ahead: waiting for its two tokens is most of a merge's time.
constexpr size_t kAhead = 16;

// A running sum that does not lose small terms (Neumaier).
class ExactSum {
 public:
  void add(double value) {
    const double sum = sum_ + value;
    correction_ += std::fabs(sum_) >= std::fabs(value) ? (sum_ - sum) + value : (value - sum) + sum_;
    sum_ = sum;
  }
  double value() const { return sum_ + correction_; }

 private:
  double sum_ = 0, correction_ = 0;
};

// What one token adds to the sums that need a logarithm or a root. Kept, since each is needed twice.
struct Terms {
  double f_ln_f = 0, f_power = 0;
  Terms() = default;
  explicit Terms(double f) : f_ln_f(f * std::log(f)), f_power(f * f * std::sqrt(f)) {}

  static Terms of(uint64_t f) {
    static const std::vector<Terms> table = [] {
      std::vector<Terms> terms(kTabulated);
      for (uint64_t n = 1; n < kTabulated; ++n) terms[n] = Terms(static_cast<double>(n));
      return terms;
    }();
    return f < kTabulated ? table[f] : Terms(static_cast<double>(f));
  }
  static constexpr uint64_t kTabulated = 1 << 13;  // as many as fit the cache; most tokens are rarer
};

struct Sums {
  const uint64_t often;
  uint64_t tokens = 0, types = 0, type_length = 0, frequent = 0;
  ExactSum f_ln_f{}, f_power{};

  void add(uint64_t f, const Terms& terms, uint64_t length, bool merged, int sign) {
    if (f == 0) return;
    tokens += sign * f;
    types += sign;
    type_length += sign * length;
    frequent += merged && f >= often ? sign : 0;
    f_ln_f.add(sign * terms.f_ln_f);
    f_power.add(sign * terms.f_power);
  }
};

}  // namespace

CurveSums curve_sums(const uint64_t* alphabet_counts, size_t alphabet, const uint32_t* lengths,
                     const uint32_t* left, const uint32_t* right, const uint64_t* merge_counts,
                     const uint64_t* rows, size_t row_count, uint64_t often) {
  CurveSums curve;
  for (auto* column : {&curve.tokens, &curve.types, &curve.type_length, &curve.frequent})
    column->reserve(row_count);
  for (auto* column : {&curve.f_ln_f, &curve.f_power}) column->reserve(row_count);
  const size_t merges = row_count == 0 ? 0 : rows[row_count - 1];
  struct Token {  // in one place, since a merge changes three tokens anywhere in the table
    uint64_t frequency = 0;
    Terms terms;
    uint64_t length = 0;
  };
  std::vector<Token> tokens(alphabet + merges);
  Sums sums{often};
  auto change = [&](size_t token, uint64_t by, int sign) {
    Token& t = tokens[token];
    sums.add(t.frequency, t.terms, t.length, token >= alphabet, -1);
    t.frequency += sign * by;
    t.terms = Terms::of(t.frequency);
    sums.add(t.frequency, t.terms, t.length, token >= alphabet, +1);
  };
  for (size_t t = 0; t < tokens.size(); ++t) tokens[t].length = lengths[t];
  for (size_t t = 0; t < alphabet; ++t) change(t, alphabet_counts[t], +1);
  size_t m = 0;
  for (size_t i = 0; i < row_count; ++i) {
    for (; m < rows[i]; ++m) {
      if (m + kAhead < merges) {
        __builtin_prefetch(&tokens[left[m + kAhead]], 1);
        __builtin_prefetch(&tokens[right[m + kAhead]], 1);
      }
      poll();
      change(left[m], merge_counts[m], -1);
      change(right[m], merge_counts[m], -1);
      change(alphabet + m, merge_counts[m], +1);
    }
    curve.tokens.push_back(sums.tokens);
    curve.types.push_back(sums.types);
    curve.type_length.push_back(sums.type_length);
    curve.f_ln_f.push_back(sums.f_ln_f.value());
    curve.f_power.push_back(sums.f_power.value());
    curve.frequent.push_back(sums.frequent);
  }
  return curve;
}

void push_down(const uint32_t* left, const uint32_t* right, size_t alphabet, size_t merges,
               const uint8_t* keep, uint64_t* frequency) {
  for (size_t m = merges; m-- > 0;) {
    const size_t token = alphabet + m;
    if (keep[token]) continue;
    frequency[left[m]] += frequency[token];
    frequency[right[m]] += frequency[token];
    frequency[token] = 0;
  }
}

void closure(const uint32_t* left, const uint32_t* right, size_t alphabet, size_t merges, uint8_t* marked) {
  for (size_t m = merges; m-- > 0;)
    if (marked[alphabet + m]) marked[left[m]] = marked[right[m]] = 1;
}

namespace {

// Running sums over ranks of ln r and its square. Kept from call to call.
struct RankSums {
  std::vector<double> sums, squares;
  explicit RankSums(size_t most) : sums(most + 1, 0), squares(most + 1, 0) {
    for (size_t r = 1; r <= most; ++r) {
      const double x = std::log(static_cast<double>(r));
      sums[r] = sums[r - 1] + x;
      squares[r] = squares[r - 1] + x * x;
    }
  }
  static std::shared_ptr<const RankSums> up_to(size_t most) {
    static std::mutex mutex;
    static std::shared_ptr<const RankSums> kept;
    std::lock_guard lock(mutex);
    if (!kept || kept->sums.size() <= most) kept = std::make_shared<const RankSums>(most);
    return kept;
  }
};

// Ranks go from the highest frequency down. Equal frequencies share a block of ranks, so only the
// number of tokens per frequency matters; it is updated while the frequencies change.
class RankFit {
 public:
  RankFit(const uint64_t* alphabet_counts, size_t alphabet, size_t most)
      : ranks_(RankSums::up_to(most)), sums_(ranks_->sums), squares_(ranks_->squares),
        logarithm_(logarithms()), frequency_(most, 0), histogram_(kDirect, 0) {
    histogram_[0] = static_cast<uint32_t>(most);
    for (uint32_t t = 0; t < alphabet; ++t) change(t, alphabet_counts[t]);
  }

  void prefetch(uint32_t token) const { __builtin_prefetch(&frequency_[token], 1); }

  void change(uint32_t token, uint64_t by) {
    uint64_t& f = frequency_[token];
    if (f < kDirect) --histogram_[f];
    const bool was_large = f >= kDirect;
    f += by;
    if (f < kDirect)
      ++histogram_[f];
    else if (!was_large)
      often_.push_back(token);
  }

  double fit() {
    large_.clear();
    std::erase_if(often_, [&](uint32_t token) { return frequency_[token] < kDirect; });
    for (uint32_t token : often_) large_.push_back(frequency_[token]);
    std::sort(large_.begin(), large_.end(), std::greater<>());
    size_t rank = 0;
    double ln_top = 0, y = 0, yy = 0, xy = 0;
    auto block = [&](double logarithm, size_t size) {
      // Relative to the highest, so that nothing cancels where all are nearly equal.
      if (rank == 0) ln_top = logarithm;
      const double ln_f = logarithm - ln_top;
      y += ln_f * static_cast<double>(size);
      yy += ln_f * ln_f * static_cast<double>(size);
      xy += ln_f * (sums_[rank + size] - sums_[rank]);
      rank += size;
    };
    for (uint64_t f : large_) block(std::log(static_cast<double>(f)), 1);
    // Eight at a time: most frequencies have no token.
    for (uint64_t high = kDirect; high > 0; high -= 8) {
      const uint32_t* eight = &histogram_[high - 8];
      if ((eight[0] | eight[1] | eight[2] | eight[3] | eight[4] | eight[5] | eight[6] | eight[7]) == 0)
        continue;
      for (uint64_t i = 8; i-- > 0;) {
        if (eight[i] != 0 && high - 8 + i != 0) block(logarithm_[high - 8 + i], eight[i]);
      }
    }
    const double n = static_cast<double>(rank);
    const double sxx = squares_[rank] - sums_[rank] * sums_[rank] / n;
    const double syy = yy - y * y / n, sxy = xy - sums_[rank] * y / n;
    if (rank < 3 || syy <= 0) return std::nan("");
    return sxy * sxy / (sxx * syy);
  }

 private:
  static constexpr uint64_t kDirect = 1 << 16;  // frequencies below this are counted, not sorted
  static const double* logarithms() {
    static const std::vector<double> table = [] {
      std::vector<double> of(kDirect, 0);
      for (uint64_t f = 1; f < kDirect; ++f) of[f] = std::log(static_cast<double>(f));
      return of;
    }();
    return table.data();
  }
  const std::shared_ptr<const RankSums> ranks_;
  const std::vector<double>&sums_, &squares_;
  const double* logarithm_;
  std::vector<uint64_t> frequency_;
  std::vector<uint32_t> histogram_;  // tokens by frequency, below kDirect
  std::vector<uint32_t> often_;      // the tokens above it
  std::vector<uint64_t> large_;
};

}  // namespace

std::vector<double> zipf_fit(const uint64_t* alphabet_counts, size_t alphabet, const uint32_t* left,
                             const uint32_t* right, const uint64_t* merge_counts,
                             const uint64_t* rows, size_t row_count) {
  const size_t merges = row_count == 0 ? 0 : rows[row_count - 1];
  RankFit ranks(alphabet_counts, alphabet, alphabet + merges);
  std::vector<double> scores;
  size_t m = 0;
  for (size_t i = 0; i < row_count; ++i) {
    for (; m < rows[i]; ++m) {
      if (m + kAhead < merges) {
        ranks.prefetch(left[m + kAhead]);
        ranks.prefetch(right[m + kAhead]);
      }
      ranks.change(left[m], -merge_counts[m]);
      ranks.change(right[m], -merge_counts[m]);
      ranks.change(static_cast<uint32_t>(alphabet + m), merge_counts[m]);
    }
    poll();
    scores.push_back(ranks.fit());
  }
  return scores;
}

}  // namespace volt
