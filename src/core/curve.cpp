#include "curve.hpp"

#include <algorithm>
#include <cmath>

namespace volt {
namespace {

constexpr uint64_t kFrequent = 100;

// A running sum that does not lose the small terms (Neumaier).
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

struct Sums {
  uint64_t tokens = 0, types = 0, type_length = 0, frequent = 0;
  ExactSum f_ln_f, f_power;

  void add(uint64_t f, uint32_t length, int sign) {
    if (f == 0) return;
    const double x = static_cast<double>(f);
    tokens += sign * f;
    types += sign;
    type_length += static_cast<int64_t>(sign) * length;
    frequent += f >= kFrequent ? sign : 0;
    f_ln_f.add(sign * x * std::log(x));
    f_power.add(sign * x * x * std::sqrt(x));
  }
};

}  // namespace

CurveSums curve_sums(const uint64_t* alphabet_counts, size_t alphabet, const uint32_t* lengths,
                     const uint32_t* left, const uint32_t* right, const uint64_t* merge_counts,
                     size_t merges) {
  CurveSums curve;
  curve.frequency.assign(alphabet + merges, 0);
  std::copy(alphabet_counts, alphabet_counts + alphabet, curve.frequency.begin());
  Sums sums;
  for (size_t t = 0; t < alphabet; ++t) sums.add(curve.frequency[t], lengths[t], +1);
  auto record = [&] {
    curve.tokens.push_back(sums.tokens);
    curve.types.push_back(sums.types);
    curve.type_length.push_back(sums.type_length);
    curve.f_ln_f.push_back(sums.f_ln_f.value());
    curve.f_power.push_back(sums.f_power.value());
    curve.frequent.push_back(sums.frequent);
  };
  auto change = [&](uint32_t token, uint64_t by, int sign) {
    uint64_t& f = curve.frequency[token];
    sums.add(f, lengths[token], -1);
    f += sign * by;
    sums.add(f, lengths[token], +1);
  };
  record();
  for (size_t m = 0; m < merges; ++m) {
    const uint64_t k = merge_counts[m];
    change(left[m], k, -1);
    change(right[m], k, -1);
    change(static_cast<uint32_t>(alphabet + m), k, +1);
    record();
  }
  return curve;
}

}  // namespace volt
