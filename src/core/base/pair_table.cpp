#include "base/pair_table.hpp"

#include <stdexcept>

namespace volt {

void PairTable::reserve(size_t pairs) {
  unsigned bits = 6;
  while ((size_t{1} << bits) < 2 * pairs) ++bits;
  std::vector<Slot> old(size_t{1} << bits, Slot{0, 0, kNoToken});
  old.swap(slots_);
  filter_.assign(slots_.size() >> (6 - kFilterBits), 0);
  mask_ = slots_.size() - 1;
  shift_ = 64 - bits;
  size_ = 0;
  for (const Slot& slot : old)
    if (slot.value != kNoToken) set(slot.left, slot.right, slot.value);
}

void PairTable::set(uint32_t left, uint32_t right, uint32_t value) {
  if (2 * (size_ + 1) > slots_.size()) reserve(2 * (size_ + 1));
  const uint64_t hash = hash_of(left, right);
  size_t i = hash >> shift_;
  while (slots_[i].value != kNoToken) {
    if (slots_[i].left == left && slots_[i].right == right)
      throw std::invalid_argument("two tokens are made of the same pair");
    i = (i + 1) & mask_;
  }
  slots_[i] = {left, right, value};
  const uint64_t bit = hash >> (shift_ - kFilterBits);
  filter_[bit >> 6] |= uint64_t{1} << (bit & 63);
  ++size_;
}

}  // namespace volt
