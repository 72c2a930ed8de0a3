#include "counting/word_table.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace volt {
namespace {

constexpr size_t kArenaChunk = 1 << 20;

// A hash of 16 bytes or more.
uint64_t hash_long(const uint8_t* p, size_t bytes) {
  uint64_t hash = bytes;
  const uint8_t* end = p + bytes;
  for (; end - p > 16; p += 16)
    hash = mix(load(p) ^ 0xA0761D6478BD642Full, load(p + 8) ^ hash ^ 0x8EBC6AF09C88C6E3ull);
  return mix(load(end - 16) ^ 0xA0761D6478BD642Full, load(end - 8) ^ hash);
}

}  // namespace

void WordTable::add_uncommon(const uint8_t* word, size_t bytes, uint64_t count) {
  if (bytes > InlineTable<4>::kBytes) return add_long(word, bytes, count);
  std::array<uint64_t, 4> key{};
  std::memcpy(key.data(), word, bytes);
  const uint64_t length = static_cast<uint64_t>(bytes) << 56;
  if (bytes > InlineTable<2>::kBytes)
    wides_.add({key[0], key[1], key[2], key[3] | length}, count);
  else
    shorts_.add({key[0], key[1] | length}, count);
}

void WordTable::add_long(const uint8_t* word, size_t bytes, uint64_t count) {
  const uint64_t hash = hash_long(word, bytes);
  const size_t mask = long_slots_.size() - 1;
  for (size_t i = hash & mask;; i = (i + 1) & mask) {
    LongSlot& slot = long_slots_[i];
    if (slot.word == nullptr) {
      slot = {hash, count, keep(word, bytes), bytes};
      if (++long_size_ * 2 > long_slots_.size()) grow_long();
      return;
    }
    if (slot.hash == hash && slot.bytes == bytes && std::memcmp(slot.word, word, bytes) == 0) {
      slot.count += count;
      return;
    }
  }
}

void WordTable::grow_long() {
  HugeVector<LongSlot> old(long_slots_.size() * 2);
  old.swap(long_slots_);
  const size_t mask = long_slots_.size() - 1;
  for (const LongSlot& slot : old) {
    if (slot.word == nullptr) continue;
    size_t i = slot.hash & mask;
    while (long_slots_[i].word != nullptr) i = (i + 1) & mask;
    long_slots_[i] = slot;
  }
}

const uint8_t* WordTable::keep(const uint8_t* word, size_t bytes) {
  if (bytes > arena_capacity_ - arena_used_) {
    arena_capacity_ = std::max(bytes, kArenaChunk);
    arena_.push_back(std::make_unique<uint8_t[]>(arena_capacity_));
    arena_bytes_ += arena_capacity_;
    arena_used_ = 0;
  }
  uint8_t* copy = arena_.back().get() + arena_used_;
  std::memcpy(copy, word, bytes);
  arena_used_ += bytes;
  return copy;
}

size_t WordTable::memory(size_t text_bytes) const {
  // Words of one and two bytes are few; all others take at least four bytes of text with their blank.
  size_t bytes = shorts_.memory(text_bytes / 4) + wides_.memory(text_bytes / InlineTable<2>::kBytes);
  size_t slots = long_slots_.size();
  while ((long_size_ + text_bytes / InlineTable<4>::kBytes) * 2 > slots) slots *= 2;
  bytes += (slots == long_slots_.size() ? slots : slots + slots / 2) * sizeof(LongSlot);
  return bytes + arena_bytes_ + text_bytes;
}

void WordTable::prune(uint64_t limit) {
  WordTable kept;
  for_each([&](const uint8_t* word, size_t bytes, uint64_t count) {
    if (count > limit) kept.add(word, bytes, count);
  });
  kept.flush();
  *this = std::move(kept);
}

}  // namespace volt
