// A pair of numbers -> a number. Open addressing, linear probing, no removal. Most pairs that are
// looked up are not in the table: a bit in a small table tells, without reading the large one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace volt {

constexpr uint32_t kNoToken = 0xFFFFFFFF;

class PairTable {
 public:
  PairTable() { reserve(0); }
  void reserve(size_t pairs);
  // Throws std::invalid_argument if the table already has the pair.
  void set(uint32_t left, uint32_t right, uint32_t value);
  uint32_t find(uint32_t left, uint32_t right) const {
    const uint64_t hash = hash_of(left, right);
    const uint64_t bit = hash >> (shift_ - kFilterBits);
    if (!(filter_[bit >> 6] >> (bit & 63) & 1)) return kNoToken;
    for (size_t i = hash >> shift_;; i = (i + 1) & mask_) {
      const Slot& slot = slots_[i];
      if (slot.value == kNoToken || (slot.left == left && slot.right == right)) return slot.value;
    }
  }
  // Calls take(left, right, value) for every pair.
  template <class Take>
  void each(Take&& take) const {
    for (const Slot& slot : slots_)
      if (slot.value != kNoToken) take(slot.left, slot.right, slot.value);
  }

 private:
  static constexpr unsigned kFilterBits = 2;  // four bits per slot
  struct Slot {
    uint32_t left, right, value;  // value kNoToken: empty
  };
  static uint64_t hash_of(uint32_t left, uint32_t right) {
    return (static_cast<uint64_t>(left) << 32 | right) * 0x9E3779B97F4A7C15ull;
  }
  std::vector<Slot> slots_;
  std::vector<uint64_t> filter_;
  size_t mask_ = 0, size_ = 0;
  unsigned shift_ = 0;
};

}  // namespace volt
