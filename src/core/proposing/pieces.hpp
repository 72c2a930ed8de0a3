// Words cut with tokens that have no parents: how often each token occurs, and scores with which every
// token is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/word_view.hpp"
#include "proposing/match.hpp"

namespace volt {

// Token t is text[offsets[t]..offsets[t+1]), with the bytes of match.hpp for marks. It is used if
// inside[t].
struct KeyView {
  const uint8_t* text;
  const uint64_t* offsets;
  const uint8_t* inside;
  size_t size;
};

enum class WordMark : uint8_t { none, start, final };

// The tokens that are used, to be looked up.
PieceTable piece_table(const KeyView& keys, const double* scores);

// The bytes of word w with its mark.
void marked_key(const WordView& words, size_t w, WordMark mark, std::vector<uint8_t>& key);

// The words have no marks. The frequency of every token, and after them that of unknown characters.
std::vector<uint64_t> count_pieces(const KeyView& keys, const double* scores, const WordView& words,
                                   const Matching& matching, WordMark mark, bool bytes_only,
                                   unsigned threads);

// The scores, each raised to the best sum of scores that its token can be cut into, if that is higher.
// Of equal sums the encoder takes the single token.
std::vector<double> lift_scores(const KeyView& keys, const double* scores, bool bytes_only);

}  // namespace volt
