// Words as tokens: cut once by all merges and then shown after any number of them, or cut with tokens
// that are looked up. The slow twins are volt.reference.merges.join and volt.reference.look_up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/huge.hpp"
#include "base/pair_table.hpp"
#include "base/word_view.hpp"
#include "proposing/match.hpp"
#include "proposing/pieces.hpp"

namespace volt {

// Word w is tokens[offsets[w]..offsets[w+1]).
struct CutWords {
  HugeVector<uint32_t> tokens;
  std::vector<uint64_t> offsets;
};

// What becomes of a character that no token has: its bytes, or one token.
struct UnknownCharacter {
  uint32_t token = kNoToken;       // if `first_byte` is kNoToken
  uint32_t first_byte = kNoToken;  // the token of byte 0; those of the other bytes follow
  bool spaces = false;             // U+2581 stands for a space, which is one byte
};

// Merge m joins left[m] and right[m] into token alphabet + m.
struct MergeView {
  const uint32_t* left;
  const uint32_t* right;
  size_t alphabet, merges;
};

// Symbol s is the character (in byte-level mode the byte) characters[s]; if ends[s], at the end of a word
// only. A symbol that stands for no character has the number kNoToken.
struct SymbolView {
  const uint32_t* characters;
  const uint8_t* ends;
  size_t size;
  bool byte_level;
  bool marks_end;  // is the last character of a word another symbol?
};

// The words cut by all merges: lowest rank first, leftmost on a tie.
CutWords cut_by_merges(const WordView& words, const SymbolView& symbols, const MergeView& merges,
                       const UnknownCharacter& unknown, unsigned threads);

// The same words after the first `row` merges only. A token is merged from the same two wherever it
// occurs, and merges are made in the order of their ranks: so later tokens are split into their parents.
CutWords undo_merges(const uint32_t* tokens, const uint64_t* offsets, size_t words, const MergeView& merges,
                     size_t row);

// The words cut by looking tokens up.
CutWords cut_by_pieces(const KeyView& keys, const double* scores, const WordView& words,
                       const Matching& matching, WordMark mark, bool bytes_only,
                       const UnknownCharacter& unknown, unsigned threads);

}  // namespace volt
