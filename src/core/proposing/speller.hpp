// The alphabet of a corpus, and its words spelled with it.
#pragma once

#include <vector>

#include "proposing/merge.hpp"
#include "proposing/word_rows.hpp"

namespace volt {

class Speller {
 public:
  Speller(const WordView& words, const MergeOptions& options);

  // The symbols become the first tokens of the result.
  void make_alphabet(MergeResult& result);
  // Every word as a row of symbols.
  void spell_words(WordRows& rows) const;

 private:
  template <class Visit>
  void for_each_character(size_t w, Visit&& visit) const;
  std::vector<uint64_t> count_symbols() const;
  std::vector<bool> cover(const std::vector<uint64_t>& counts, MergeResult& result) const;
  size_t code_points() const;
  uint64_t length_of(size_t w) const;

  const WordView words_;
  const MergeOptions& options_;
  const bool byte_level_;
  const size_t kinds_;  // symbols per character: 2 if one that ends a word is a symbol of its own
  std::vector<size_t> shares_;  // thread i has the words [shares_[i], shares_[i + 1])
  std::vector<uint32_t> symbol_of_;  // by character * kinds_ + (it ends a word, if kinds_ is 2)
  uint32_t unknown_;
};

}  // namespace volt
