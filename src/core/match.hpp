// The encodings that look tokens up in a word instead of merging characters: `longest` takes the
// longest token again and again (WordPiece), `unigram` the tokens with the highest sum of scores.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "pair_table.hpp"

namespace volt {

enum class Encoding : uint8_t { merge, longest, unigram };

struct Matching {
  Encoding encoding = Encoding::merge;
  bool marks_start = false;  // a token at the start of a word is another than one inside it
  uint64_t most_characters = 0;  // longest: a word of more is unknown; 0: any
  bool single = false;  // unigram: scores are added in 32 bits, not in 64
  bool anew = false;    // unigram: from zero at every space, not at the start of the text only
  double unknown_score = 0;
  double symbol_score = 0;  // what a byte of a symbol adds
  bool at_spaces = false;   // metaspace words end at spaces only; always so where tokens are looked up
  bool whole_words = false;  // merge: a word that is a token is not merged
};

// Bytes that are not in UTF-8 stand for the marks in a word and in the keys of tokens.
constexpr uint8_t kStartMark = 0xFE, kFinalMark = 0xFF;

// Tokens as a tree of bytes.
class PieceTable {
 public:
  PieceTable() { roots_.fill(kNoToken); }
  // Throws std::invalid_argument if the key is there already.
  void add(const uint8_t* key, size_t bytes, uint32_t token, double score);
  uint32_t first(uint8_t byte) const { return roots_[byte]; }
  uint32_t next(uint32_t node, uint8_t byte) const { return next_.find(node, byte); }
  uint32_t token(uint32_t node) const { return nodes_[node].token; }
  // The token that is just this; kNoToken if none is.
  uint32_t find(const uint8_t* key, size_t bytes) const {
    uint32_t node = bytes ? first(key[0]) : kNoToken;
    for (size_t i = 1; i < bytes && node != kNoToken; ++i) node = next(node, key[i]);
    return node == kNoToken ? kNoToken : token(node);
  }
  double score(uint32_t node) const { return nodes_[node].score; }
  // Are all sums of scores exact, whatever they are added to?
  bool exact() const { return exact_; }

 private:
  struct Node {
    double score = 0;
    uint32_t token = kNoToken;
  };
  std::array<uint32_t, 256> roots_;
  std::vector<Node> nodes_;
  PairTable next_;  // (node, byte) -> node
  bool exact_ = true;
};

// Cuts words for one thread. A word is its bytes with the marks that the tokens have.
class Matcher {
 public:
  Matcher(const PieceTable& pieces, const Matching& matching, bool bytes_only)
      : pieces_(pieces), matching_(matching), bytes_only_(bytes_only) {}

  struct Piece {
    uint32_t token;  // kNoToken: an unknown character; longest: no token fits here
    size_t begin, end;
  };
  // The pieces of the word, in order. `base` is the sum of scores before it, and after it.
  const std::vector<Piece>& cut(const uint8_t* word, size_t bytes, double& base);

 private:
  struct Best {
    double score;
    uint32_t begin, token;
  };
  size_t character(const uint8_t* word, size_t at, size_t bytes) const;
  void longest(const uint8_t* word, size_t bytes);
  template <class Real>
  void unigram(const uint8_t* word, size_t bytes, double& base);

  const PieceTable& pieces_;
  const Matching& matching_;
  const bool bytes_only_;
  std::vector<Piece> found_;
  std::vector<Best> best_;
};

}  // namespace volt
