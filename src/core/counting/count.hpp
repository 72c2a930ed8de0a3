// Text -> word types with 64-bit counts. Memory grows with the number of types, not with the text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "counting/lines.hpp"
#include "counting/pretokenizer.hpp"
#include "counting/word_table.hpp"

namespace volt {

// Word types, sorted by count (highest first), then by bytes. Word w is text[offsets[w]..offsets[w+1]).
struct WordList {
  std::vector<uint8_t> text;
  std::vector<uint64_t> offsets;
  std::vector<uint64_t> counts;
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
  // `documents`: line ends are text like any other, and a text ends where its document does.
  Counter(Pretokenizer pretokenizer, uint32_t max_word_length, unsigned threads, uint64_t max_types,
          bool documents = false);
  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;

  // Count the words of the next part of a document, such as a file. Call until all is consumed, with
  // `last` for the last part. Every count is added `weight` times.
  FeedResult feed(const uint8_t* data, size_t bytes, bool last, uint64_t weight);
  // Count the words of whole documents, one after the other in `data`. `ends` are not descending; the
  // last is the size of the data.
  FeedResult feed_documents(const uint8_t* data, const std::vector<uint64_t>& ends, uint64_t weight);
  // Add a word as it is (from a counts file).
  void add(std::string_view word, uint64_t count);

  // Prune, if there are more than max_types words.
  void limit_types();

  Pretokenizer pretokenizer() const { return pretokenizer_; }
  uint32_t max_word_length() const { return max_word_length_; }
  bool documents() const { return documents_; }
  // Was the last part of a document consumed up to a place where a text could begin as well?
  bool between_texts() const { return between_texts_; }
  const CountTotals& totals() const { return totals_; }
  // An upper bound of the bytes used while so many bytes of text are counted and then spilled.
  size_t memory(size_t text_bytes) const;
  // Write what was counted so far as runs (spill.hpp) sorted by word, one per table that is not
  // empty, named prefix0, prefix1 ... Returns how many. The tables are empty afterwards. In a run a
  // space is not yet spelled as the mark.
  size_t spill(const std::string& prefix);
  // The word list; words rarer than min_count are left out. The counter is empty afterwards.
  WordList finish(uint64_t min_count);

 private:
  void add_totals(uint64_t words, uint64_t cut_words, uint64_t reserved, uint64_t weight);
  // Where the text may be cut in two, from p on.
  const uint8_t* cut_after(const uint8_t* begin, const uint8_t* p, const uint8_t* end) const;
  void count_whole(const uint8_t* data, const uint8_t* end, const uint8_t* readable,
                   const std::vector<uint64_t>& ends, bool items, uint64_t weight, FeedResult& result);
  void count_part_of_line(const uint8_t* data, const uint8_t* end, uint64_t weight, FeedResult& result);
  void merge_tables();

  Pretokenizer pretokenizer_;
  uint32_t max_word_length_;
  uint64_t max_types_;
  bool documents_;
  bool between_texts_ = true;
  std::vector<WordTable> tables_;  // one per thread
  LineState state_;
  CountTotals totals_;
};

}  // namespace volt
