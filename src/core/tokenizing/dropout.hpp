// BPE dropout: every possible merge is skipped with this probability at every step (Provilkov et al.
// 2020).
#pragma once

#include <cstdint>

namespace volt {

struct Dropout {
  double probability = 0;
  uint64_t seed = 0;
};

// The random draws of one word (splitmix64). They depend on the seed, the number of the line, and the
// number of the word in the line.
class Coin {
 public:
  Coin(const Dropout& dropout, uint64_t line, uint64_t word) : probability_(dropout.probability) {
    state_ = step(step(step(dropout.seed) ^ line) ^ word);
  }
  bool skips() {
    state_ += kGolden;
    return static_cast<double>(step(state_ - kGolden) >> 11) * 0x1p-53 < probability_;
  }

 private:
  static constexpr uint64_t kGolden = 0x9E3779B97F4A7C15ull;
  static uint64_t step(uint64_t x) {
    x += kGolden;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ x >> 27) * 0x94D049BB133111EBull;
    return x ^ x >> 31;
  }
  double probability_;
  uint64_t state_;
};

}  // namespace volt
