// What common words became.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/hash.hpp"
#include "base/huge.hpp"

namespace volt {

// A key is the bytes of a word, its last byte the length; a length of 0 means an empty slot. The first of
// the two slots of a bucket is for the word that was seen more often: a new word goes to the second, and
// changes places with the first when it is seen again.
template <size_t kWords, size_t kIds>
class WordCache {
 public:
  struct Slot {  // a cache line
    uint64_t key[kWords];
    uint32_t size;
    uint32_t ids[kIds];

    // Copies the ids, and maybe some more; returns where they end. Few words have more than four.
    uint32_t* copy_to(uint32_t* out) const {
      std::memcpy(out, ids, 4 * sizeof(uint32_t));
      if (size > 4) [[unlikely]] std::memcpy(out + 4, ids + 4, sizeof ids - 4 * sizeof(uint32_t));
      return out + size;
    }

    // Unigram: how far from zero the sum before the word may be (Matcher::cut_anywhere), in place of the
    // last id.
    float limit() const { return std::bit_cast<float>(ids[kIds - 1]); }
  };
  static constexpr size_t kMostBytes = 8 * kWords - 1, kMostIds = kIds;

  void prefetch(uint64_t hash) const { __builtin_prefetch(bucket_of(hash)); }
  // The slot of the word, or null.
  const Slot* find(const uint64_t* key, uint64_t hash) {
    Slot* bucket = bucket_of(hash);
    if (equal(bucket[0].key, key)) [[likely]] return bucket;
    if (!equal(bucket[1].key, key)) return nullptr;
    std::swap(bucket[0], bucket[1]);
    return bucket;
  }
  void add(const uint64_t* key, uint64_t hash, const uint32_t* ids, const uint32_t* end) {
    if (end - ids > static_cast<ptrdiff_t>(kIds)) return;
    if (++added_ > slots_.size() && slots_.size() < kMostSlots) grow();
    Slot& slot = bucket_of(hash)[1];
    std::copy_n(key, kWords, slot.key);
    slot.size = static_cast<uint32_t>(end - ids);
    std::copy(ids, end, slot.ids);
  }
  void add(const uint64_t* key, uint64_t hash, const uint32_t* ids, const uint32_t* end, float limit) {
    if (end - ids >= static_cast<ptrdiff_t>(kIds)) return;
    add(key, hash, ids, end);
    bucket_of(hash)[1].ids[kIds - 1] = std::bit_cast<uint32_t>(limit);
  }
  static uint64_t hash_of(const uint64_t* key) {
    uint64_t hash = mix(key[0] ^ 0x9E3779B97F4A7C15ull, key[1] ^ 0xE7037ED1A0B428DBull);
    if (kWords == 4) hash = mix(key[2] ^ hash, key[3] ^ 0xA0761D6478BD642Full);
    return hash;
  }

 private:
  static constexpr size_t kFirstSlots = 1 << 9, kMostSlots = 1 << 19;

  Slot* bucket_of(uint64_t hash) { return &slots_[hash >> shift_ << 1]; }
  const Slot* bucket_of(uint64_t hash) const { return &slots_[hash >> shift_ << 1]; }
  static bool equal(const uint64_t* a, const uint64_t* b) {
    uint64_t difference = 0;
    for (size_t i = 0; i < kWords; ++i) difference |= a[i] ^ b[i];
    return difference == 0;
  }
  void grow() {
    HugeVector<Slot> old(slots_.size() * 4);
    old.swap(slots_);
    shift_ -= 2;
    added_ = 0;
    for (const Slot& slot : old)
      if (slot.key[kWords - 1] != 0) {
        Slot* bucket = bucket_of(hash_of(slot.key));
        bucket[bucket[0].key[kWords - 1] != 0] = slot;
      }
  }

  HugeVector<Slot> slots_ = HugeVector<Slot>(kFirstSlots);
  unsigned shift_ = 64 - 8;  // a bucket is two slots
  size_t added_ = 0;
};

}  // namespace volt
