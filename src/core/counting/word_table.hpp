// A hash table from words to counts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/hash.hpp"
#include "base/huge.hpp"

namespace volt {

// Words of up to 8 * kWords - 1 bytes, each inside its slot: the key is kWords integers, with the
// length in the top byte of the last one, which is therefore never 0.
template <size_t kWords>
class InlineTable {
 public:
  using Key = std::array<uint64_t, kWords>;
  static constexpr size_t kBytes = 8 * kWords - 1;

  InlineTable() : slots_(1 << 8) {}
  // Slots of rare words are not in the cache: prefetch a batch of them before touching the first.
  void add(const Key& key, uint64_t count) {
    const uint64_t hash = hash_of(key);
    __builtin_prefetch(&slots_[hash & (slots_.size() - 1)], 1);
    pending_[pending_size_++] = {key, hash, count};
    if (pending_size_ == kBatch) settle();
  }
  [[gnu::noinline]] void settle() {
    for (size_t i = 0; i < pending_size_; ++i) settle(pending_[i]);
    pending_size_ = 0;
  }
  size_t size() const { return size_; }
  // An upper bound of the bytes used while so many types are added. Old and new slots exist side by
  // side while the table grows.
  size_t memory(size_t more) const {
    size_t slots = slots_.size();
    while ((size_ + more) * 2 > slots) slots *= 2;
    return (slots == slots_.size() ? slots : slots + slots / 2) * sizeof(Slot);
  }

  // Calls visit(pointer, bytes, count) for every word, in no particular order.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const Slot& slot : slots_)
      if (slot.key.back() != 0)
        visit(reinterpret_cast<const uint8_t*>(slot.key.data()),
              static_cast<size_t>(slot.key.back() >> 56), slot.count);
  }

 private:
  struct Slot {
    Key key;
    uint64_t count;
  };
  struct Pending {
    Key key;
    uint64_t hash, count;
  };
  static constexpr size_t kBatch = 64;

  static uint64_t hash_of(const Key& key) {
    uint64_t hash = 0xE7037ED1A0B428DBull;
    for (size_t i = 0; i < kWords; i += 2)
      hash = mix(key[i] ^ 0x9E3779B97F4A7C15ull, (i + 1 < kWords ? key[i + 1] : 0) ^ hash);
    return hash;
  }
  static bool same(const Key& a, const Key& b) {  // as integers: std::array would call memcmp
    uint64_t difference = 0;
    for (size_t i = 0; i < kWords; ++i) difference |= a[i] ^ b[i];
    return difference == 0;
  }
  void settle(const Pending& word) {
    const size_t mask = slots_.size() - 1;
    for (size_t i = word.hash & mask;; i = (i + 1) & mask) {
      Slot& slot = slots_[i];
      if (same(slot.key, word.key)) {
        slot.count += word.count;
        return;
      }
      if (slot.key.back() == 0) {
        slot = {word.key, word.count};
        if (++size_ * 2 > slots_.size()) grow();
        return;
      }
    }
  }
  void grow() {
    HugeVector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    const size_t mask = slots_.size() - 1;
    for (const Slot& slot : old) {
      if (slot.key.back() == 0) continue;
      size_t i = hash_of(slot.key) & mask;
      while (slots_[i].key.back() != 0) i = (i + 1) & mask;
      slots_[i] = slot;
    }
  }

  HugeVector<Slot> slots_;
  size_t size_ = 0;
  Pending pending_[kBatch];
  size_t pending_size_ = 0;
};

// What to keep of 16 bytes for a word of so many bytes, and its length in the top byte: looked up,
// since a branch on the length of words can't be predicted.
struct WordShape {
  uint64_t low_mask, high_mask, length;
};
inline constexpr std::array<WordShape, 16> kWordShapes = [] {
  const auto low_mask = [](uint64_t n) { return (uint64_t{1} << (8 * n)) - 1; };
  std::array<WordShape, 16> shapes{};
  for (uint64_t bytes = 1; bytes < 16; ++bytes)
    shapes[bytes] = {bytes < 8 ? low_mask(bytes) : ~uint64_t{0}, bytes < 8 ? 0 : low_mask(bytes - 8),
                     bytes << 56};
  return shapes;
}();

// Nearly all words are stored inside their slots, the short and frequent ones close together. Words of
// 32 bytes and more are stored in an arena.
class WordTable {
 public:
  WordTable() : long_slots_(1 << 8) {}
  // `readable` is the end of the memory that may be read past the word.
  [[gnu::always_inline]] void add(const uint8_t* word, size_t bytes, const uint8_t* readable, uint64_t count) {
    if (bytes > InlineTable<2>::kBytes || readable - word < 16) [[unlikely]]
      return add_uncommon(word, bytes, count);
    const WordShape& shape = kWordShapes[bytes];
    shorts_.add({load(word) & shape.low_mask, (load(word + 8) & shape.high_mask) | shape.length}, count);
  }
  void add(const uint8_t* word, size_t bytes, uint64_t count) { add_uncommon(word, bytes, count); }
  // Words that were added are counted only now.
  void flush() {
    shorts_.settle();
    wides_.settle();
  }
  size_t size() const { return shorts_.size() + wides_.size() + long_size_; }
  void clear() { *this = WordTable(); }
  // An upper bound of the bytes used while so many bytes of text are added.
  size_t memory(size_t text_bytes) const;
  // Remove every word with a count of at most `limit`.
  void prune(uint64_t limit);

  // Calls visit(pointer, bytes, count) for every word, in no particular order. At least eight bytes
  // can be read from the pointer on; after a shorter word they are zeros.
  template <class Visit>
  void for_each(Visit&& visit) const {
    shorts_.for_each(visit);
    wides_.for_each(visit);
    for (const LongSlot& slot : long_slots_)
      if (slot.word != nullptr) visit(slot.word, static_cast<size_t>(slot.bytes), slot.count);
  }

 private:
  struct LongSlot {
    uint64_t hash, count;
    const uint8_t* word;
    uint64_t bytes;
  };

  void add_uncommon(const uint8_t* word, size_t bytes, uint64_t count);
  void add_long(const uint8_t* word, size_t bytes, uint64_t count);
  void grow_long();
  const uint8_t* keep(const uint8_t* word, size_t bytes);

  InlineTable<2> shorts_;
  InlineTable<4> wides_;
  HugeVector<LongSlot> long_slots_;
  size_t long_size_ = 0;
  std::vector<std::unique_ptr<uint8_t[]>> arena_;
  size_t arena_used_ = 0, arena_capacity_ = 0, arena_bytes_ = 0;
};

}  // namespace volt
