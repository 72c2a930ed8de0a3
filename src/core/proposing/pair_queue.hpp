// The pairs of neighbouring tokens: found by their two tokens, and taken in the order of merges.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "base/huge.hpp"

namespace volt {

constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

// Many arrays that are allocated once and freed together.
class ListArena {
 public:
  uint32_t* allocate(size_t size) {
    if (size > capacity_ - used_) {
      capacity_ = std::max<size_t>(size, 1 << 20);
      chunks_.push_back(std::make_unique_for_overwrite<uint32_t[]>(capacity_));
      used_ = 0;
    }
    uint32_t* list = chunks_.back().get() + used_;
    used_ += size;
    return list;
  }

 private:
  std::vector<std::unique_ptr<uint32_t[]>> chunks_;
  size_t used_ = 0, capacity_ = 0;
};

// Two neighbouring tokens, how often they are neighbours, and where: every word that contains the pair
// is in the list, but not every word in the list still contains it.
struct Pair {
  uint32_t left, right;
  uint64_t count;
  uint32_t* words;
  uint32_t word_count;
  uint32_t next;  // in its bucket
};

// (left, right) -> number of the pair. Open addressing, linear probing, no removal.
class PairIndex {
 public:
  PairIndex() : slots_(1 << 12, Slot{0, 0, kNone}) {}

  void prefetch(uint32_t left, uint32_t right) const {
    __builtin_prefetch(&slots_[hash(left, right) & (slots_.size() - 1)]);
  }
  uint32_t find(uint32_t left, uint32_t right) const {
    return slots_[slot_of(left, right)].pair;
  }
  void set(uint32_t left, uint32_t right, uint32_t pair) {
    Slot& slot = slots_[slot_of(left, right)];
    if (slot.pair != kNone) {
      slot.pair = pair;
      return;
    }
    slot = {left, right, pair};
    if (++size_ * 2 > slots_.size()) grow();
  }

 private:
  struct Slot {
    uint32_t left, right, pair;
  };
  static uint64_t hash(uint32_t left, uint32_t right) {
    uint64_t key = static_cast<uint64_t>(left) << 32 | right;
    key *= 0x9E3779B97F4A7C15ull;
    return key ^ key >> 32;
  }
  size_t slot_of(uint32_t left, uint32_t right) const {
    const size_t mask = slots_.size() - 1;
    size_t i = hash(left, right) & mask;
    while (slots_[i].pair != kNone && (slots_[i].left != left || slots_[i].right != right))
      i = (i + 1) & mask;
    return i;
  }
  void grow() {
    HugeVector<Slot> old(slots_.size() * 2, Slot{0, 0, kNone});
    old.swap(slots_);
    for (const Slot& slot : old)
      if (slot.pair != kNone) slots_[slot_of(slot.left, slot.right)] = slot;
  }

  HugeVector<Slot> slots_;
  size_t size_ = 0;
};

// The order of merges, a total order: the highest count first; then the lower left token; then the
// lower right token. Once a pair exists its count can only fall: it stays in the bucket of a count it
// once had, and moves to a lower bucket when it is looked at.
class PairQueue {
  struct Large {
    uint64_t count;
    uint32_t pair;
  };
  bool earlier(uint32_t a, uint32_t b) const {
    const Pair &x = pairs_[a], &y = pairs_[b];
    return x.left != y.left ? x.left < y.left : x.right < y.right;
  }
  struct Tie {
    uint64_t tokens;  // left, then right
    uint32_t pair;
    bool operator<(const Tie& other) const { return tokens > other.tokens; }
  };
  Tie tie(uint32_t pair) const {
    return {static_cast<uint64_t>(pairs_[pair].left) << 32 | pairs_[pair].right, pair};
  }
  auto large_order() const {
    return [this](const Large& a, const Large& b) {
      return a.count != b.count ? a.count < b.count : earlier(b.pair, a.pair);
    };
  }

 public:
  explicit PairQueue(std::vector<Pair>& pairs, uint64_t min_frequency)
      : pairs_(pairs), min_frequency_(min_frequency), heads_(kBuckets, kNone) {}

  void push(uint32_t pair) {
    const uint64_t count = pairs_[pair].count;
    if (count < min_frequency_) return;
    if (count > level_ || count >= kBuckets) {
      large_.push_back({count, pair});
      std::push_heap(large_.begin(), large_.end(), large_order());
    } else if (count == level_) {
      ties_.push_back(tie(pair));
      std::push_heap(ties_.begin(), ties_.end());
    } else {
      pairs_[pair].next = heads_[count];
      heads_[count] = pair;
    }
  }

  // The pair that probably comes next, or kNone.
  uint32_t peek() const { return large_.empty() && !ties_.empty() ? ties_.front().pair : kNone; }

  // The next pair to merge, or kNone.
  uint32_t pop() {
    for (;;) {
      if (!large_.empty()) {
        const Large top = large_.front();
        std::pop_heap(large_.begin(), large_.end(), large_order());
        large_.pop_back();
        if (pairs_[top.pair].count == top.count) return top.pair;
        push(top.pair);
      } else if (!ties_.empty()) {
        const uint32_t pair = ties_.front().pair;
        std::pop_heap(ties_.begin(), ties_.end());
        ties_.pop_back();
        if (pairs_[pair].count == level_) return pair;
        push(pair);
      } else {
        if (level_ <= min_frequency_) return kNone;
        --level_;
        for (uint32_t pair = heads_[level_]; pair != kNone;) {
          const uint32_t next = pairs_[pair].next;
          if (next != kNone) __builtin_prefetch(&pairs_[next]);
          if (pairs_[pair].count == level_)
            ties_.push_back(tie(pair));
          else
            push(pair);
          pair = next;
        }
        std::make_heap(ties_.begin(), ties_.end());
      }
    }
  }

 private:
  static constexpr uint64_t kBuckets = 1 << 16;  // counts below this have a bucket of their own

  std::vector<Pair>& pairs_;
  const uint64_t min_frequency_;
  uint64_t level_ = kBuckets;    // the bucket whose pairs are in `ties_`
  std::vector<uint32_t> heads_;  // of the buckets below it
  std::vector<Tie> ties_;
  std::vector<Large> large_;     // counts above the level
};

}  // namespace volt
