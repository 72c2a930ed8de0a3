// How many ids common short words have, for counting. A word takes 16 bytes here and 64 in a WordCache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace volt {

// A key is that of a WordCache<2, n>: its last byte is the number of bytes, at most 15. A number of ids of 0
// means that it is not known.
class WordLengths {
 public:
  // The number of ids of a word, if it is the common one of its bucket.
  [[gnu::always_inline]] size_t common(const uint64_t* key) const {
    const Word& word = buckets_[bucket_of(key)].words[0];
    return word.is(key) ? word.ids() : 0;
  }
  // The number of ids of another word, which becomes the common one.
  size_t find(const uint64_t* key) {
    Word* words = buckets_[bucket_of(key)].words;
    for (size_t i = 0; i < kPlaces; ++i)
      if (words[i].is(key)) {
        std::swap(words[i], words[0]);
        return words[0].ids();
      }
    return 0;
  }
  void add(const uint64_t* key, size_t ids) {
    if (ids > kMostIds) return;
    if (++added_ > buckets_.size() && buckets_.size() < kMostBuckets) grow();
    buckets_[bucket_of(key)].words[1 + added_ % (kPlaces - 1)] = {
        key[0], key[1] | static_cast<uint64_t>(ids) << kIdsShift};
  }

 private:
  static constexpr size_t kPlaces = 2, kFirstBuckets = 1 << 8, kMostBuckets = 1 << 16;
  static constexpr unsigned kIdsShift = 60;
  static constexpr size_t kMostIds = 15;

  struct Word {
    uint64_t start, rest;  // the key, with the number of ids in its highest four bits

    bool is(const uint64_t* key) const {
      return ((start ^ key[0]) | (rest ^ key[1]) << (64 - kIdsShift)) == 0;
    }
    size_t ids() const { return rest >> kIdsShift; }
  };
  struct alignas(16 * kPlaces) Bucket {
    Word words[kPlaces] = {};
  };

  // Half the instructions of WordCache::hash_of. A word that is not found is looked for there.
  size_t bucket_of(const uint64_t* key) const {
    return (key[0] * 0x9E3779B97F4A7C15ull ^ key[1] * 0xD6E8FEB86659FD93ull) >> shift_;
  }
  // What was known is found again soon enough.
  void grow() {
    buckets_.assign(buckets_.size() * 4, {});
    shift_ -= 2;
    added_ = 0;
  }

  std::vector<Bucket> buckets_ = std::vector<Bucket>(kFirstBuckets);
  unsigned shift_ = 64 - 8;
  size_t added_ = 0;
};

}  // namespace volt
