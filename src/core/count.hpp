// Text -> word types with 64-bit counts. Memory grows with the number of types, not with the text.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "huge.hpp"

namespace volt {

// How a line is cut into words; docs/words.md has the exact rules, volt/reference.py the slow twins.
enum class Pretokenizer : uint8_t { whitespace, metaspace, byte_level, cl100k, llama3, qwen2, o200k };

// Is a character a byte? Those after it differ from GPT-2's byte_level in the pattern that cuts words.
inline bool is_byte_level(Pretokenizer pretokenizer) { return pretokenizer >= Pretokenizer::byte_level; }

// Word types, sorted by count (highest first), then by bytes. Word w is text[offsets[w]..offsets[w+1]).
struct WordList {
  std::vector<uint8_t> text;
  std::vector<uint64_t> offsets;
  std::vector<uint64_t> counts;
};

// Words of up to 8 * kWords - 1 bytes, each inside its slot: a key of kWords integers, the length in the
// top byte of the last, so that it is never 0.
template <size_t kWords>
class InlineTable {
 public:
  using Key = std::array<uint64_t, kWords>;
  static constexpr size_t kBytes = 8 * kWords - 1;

  InlineTable() : slots_(1 << 8) {}
  // Slots of rare words are not in the cache: ask for a batch of them before touching the first.
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
  // The bytes that the table takes, at most, while so many types are added: old and new slots exist
  // side by side when it grows.
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

  static uint64_t hash_of(const Key& key);
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

// A hash table from words to counts. Nearly all words live inside their slots, the short and frequent
// ones close together; those of 32 bytes and more in an arena.
class WordTable {
 public:
  WordTable();
  // `readable` is the end of the memory that may be read past the word.
  void add(const uint8_t* word, size_t bytes, const uint8_t* readable, uint64_t count);
  void add(const uint8_t* word, size_t bytes, uint64_t count) { add(word, bytes, word + bytes, count); }
  void flush();
  size_t size() const { return shorts_.size() + wides_.size() + long_size_; }
  void clear();
  // The bytes taken, at most, while so many bytes of text are added.
  size_t memory(size_t text_bytes) const;
  // Remove every word with a count of at most `limit`.
  void prune(uint64_t limit);

  // Calls visit(pointer, bytes, count) for every word, in no particular order.
  template <class Visit>
  void for_each(Visit&& visit) const;

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

// Where a line that is fed in pieces stands.
struct LineState {
  bool at_start = true;
  uint8_t continuing = 0;  // 1 + kind of the run that a cut word is in; 0: at the start of a word
};

struct FeedResult {
  size_t consumed = 0;       // bytes done with; the rest must be fed again, with more behind it
  uint64_t lines = 0;        // line ends among them
  ptrdiff_t invalid_at = -1;  // offset of the first ill-formed UTF-8 sequence; nothing is usable then
};

struct CountTotals {
  uint64_t words = 0;           // occurrences, each times its weight
  uint64_t cut_words = 0;       // words longer than the maximum, cut
  uint64_t reserved = 0;        // U+2581 in the text, which metaspace leaves to byte tokens
  uint64_t pruned_words = 0;    // occurrences lost to max_types
  uint64_t max_undercount = 0;  // no count in the list is too low by more than this
};

class Counter {
 public:
  Counter(Pretokenizer pretokenizer, uint32_t max_word_length, unsigned threads, uint64_t max_types);
  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;

  // Count the words of the next part of a file. Call until all is consumed; `last` when the file ends
  // with this part. Every count is added `weight` times.
  FeedResult feed(const uint8_t* data, size_t bytes, bool last, uint64_t weight);
  // Add a word as it is (from a counts file).
  void add(std::string_view word, uint64_t count);

  // Prune, if there are more than max_types words.
  void limit_types();

  Pretokenizer pretokenizer() const { return pretokenizer_; }
  uint32_t max_word_length() const { return max_word_length_; }
  const CountTotals& totals() const { return totals_; }
  // The bytes taken, at most, while so many bytes of text are counted and then spilled.
  size_t memory(size_t text_bytes) const;
  // Write what was counted so far as runs (spill.hpp) in the order of words, one for each table that is not
  // empty, named prefix0, prefix1 ...; their number comes back. The tables are empty afterwards. In a run a
  // space is not yet spelled as the mark.
  size_t spill(const std::string& prefix);
  // The word list; words rarer than min_count are left out. The counter is empty afterwards.
  WordList finish(uint64_t min_count);

 private:
  void add_totals(uint64_t words, uint64_t cut_words, uint64_t reserved, uint64_t weight);
  void merge_tables();

  Pretokenizer pretokenizer_;
  uint32_t max_word_length_;
  uint64_t max_types_;
  std::vector<WordTable> tables_;  // one a thread
  LineState state_;
  CountTotals totals_;
};

}  // namespace volt
