// Words as rows of tokens, in one stretch of memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/huge.hpp"
#include "base/stop.hpp"

namespace volt {

// A word with its tokens right after it, so that both are in one place to fetch.
struct WordRow {
  uint64_t count;
  uint32_t length, room;  // in tokens: now, and at first
  uint32_t* tokens() { return reinterpret_cast<uint32_t*>(this + 1); }
  const uint32_t* tokens() const { return reinterpret_cast<const uint32_t*>(this + 1); }
  // How much memory a word of so many tokens takes, in units of 8 bytes.
  static uint64_t units(uint64_t length) { return sizeof(WordRow) / 8 + (length + 1) / 2; }
};

// All words. A word is known by its row: its place in memory in units of 8 bytes.
class WordRows {
 public:
  // `starts` are the first rows of the shares that threads work on, and the end of the last.
  void allocate(std::vector<uint64_t> starts) {
    starts_ = std::move(starts);
    memory_.resize(starts_.back() * 8);
  }
  WordRow& at(uint64_t row) { return *reinterpret_cast<WordRow*>(&memory_[row * 8]); }
  const WordRow& at(uint64_t row) const { return *reinterpret_cast<const WordRow*>(&memory_[row * 8]); }
  uint64_t start(unsigned share) const { return starts_[share]; }

  // Words are spread over the memory: prefetch them some steps before they are touched.
  static constexpr ptrdiff_t kAhead = 12;
  void prefetch(uint32_t row) const {
    __builtin_prefetch(&memory_[row * 8ull], 1);
    __builtin_prefetch(&memory_[row * 8ull] + 64, 1);
  }
  void prefetch(const uint32_t* first, const uint32_t* last) const {
    last = std::min(last, first + kAhead);
    for (const uint32_t* entry = first; entry < last; ++entry) prefetch(*entry);
  }

  // Calls visit(word, row) for every word of a share.
  template <class Visit>
  void for_each_word(unsigned share, Visit&& visit) const {
    for (uint64_t row = starts_[share]; row < starts_[share + 1];) {
      const WordRow& word = at(row);
      visit(word, static_cast<uint32_t>(row));
      row += WordRow::units(word.room);
    }
  }
  // Calls visit(left, right, count, row) for every two neighbouring tokens of a share.
  template <class Visit>
  void for_each_pair(unsigned share, Visit&& visit) const {
    for_each_word(share, [&](const WordRow& word, uint32_t row) {
      poll();
      for (uint32_t i = 1; i < word.length; ++i)
        visit(word.tokens()[i - 1], word.tokens()[i], word.count, row);
    });
  }

 private:
  HugeVector<std::byte> memory_;
  std::vector<uint64_t> starts_;
};

}  // namespace volt
