// Encodings that look tokens up in a word instead of merging characters. `longest` takes the longest
// token again and again (WordPiece), `unigram` the tokens with the highest sum of scores.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/pair_table.hpp"
#include "counting/pretokenizer.hpp"

namespace volt {

enum class Encoding : uint8_t { merge, longest, unigram };

struct Matching {
  Encoding encoding = Encoding::merge;
  bool marks_start = false;   // tokens at the start of a word differ from those inside (WordPiece's ##)
  uint64_t longest_word = 0;  // longest: words of more characters are unknown; 0: no limit
  bool single = false;        // unigram: scores are summed in 32 bits, not in 64
  bool restart = false;       // unigram: sums start from zero at every space, not only with the text
  double unknown_score = 0;   // unigram: of an unknown character
  double symbol_score = 0;    // unigram: of each byte of a symbol
  WordEnds word_ends = WordEnds::kinds;  // of metaspace words
  bool whole_words = false;   // merge: a word that is a token is not merged
  bool adds_space = true;     // metaspace: a space is understood before a text
  size_t part = 1 << 18;      // bytes of a long word that are encoded at a time, where they can be
};

// Bytes that do not occur in UTF-8 stand for the marks in a word and in the keys of tokens.
constexpr uint8_t kStartMark = 0xFE, kFinalMark = 0xFF;

// Tokens as a tree of bytes, in a double array (Aoe, 1989): the child of a node for a byte stands at the
// node's base plus the byte, if that place names the node as its parent. So a step reads one place.
class PieceTable {
 public:
  // Throws std::invalid_argument if the score is not a number.
  void add(const uint8_t* key, size_t bytes, uint32_t token, double score);
  // To be called after the last token, before anything is looked up. Throws std::invalid_argument if two
  // tokens have the same key.
  void finish();

  uint32_t first(uint8_t byte) const { return next(0, byte); }
  uint32_t next(uint32_t node, uint8_t byte) const {
    const uint32_t to = nodes_[node].base + byte;
    return nodes_[to].parent == node ? to : kNoToken;
  }
  uint32_t token(uint32_t node) const { return nodes_[node].token; }
  // The token with exactly this key, or kNoToken.
  uint32_t find(const uint8_t* key, size_t bytes) const {
    const uint32_t node = walk(key, bytes);
    return node == kNoToken ? kNoToken : token(node);
  }
  // The score of the token of a node.
  double score(uint32_t node) const {
    const float score = nodes_[node].score;
    return score == score ? score : scores_[nodes_[node].token];
  }
  void set_score(const uint8_t* key, size_t bytes, double score);
  // Are all sums of scores exact, in any order?
  bool exact() const { return exact_; }
  // Bytes of the longest key.
  size_t longest() const { return longest_; }

 private:
  struct Node {
    uint32_t base = 0;
    uint32_t parent = kNoToken;  // kNoToken: a free place
    uint32_t token = kNoToken;
    float score = 0;  // not a number: 32 bits are too few for the score
  };
  struct Key {
    uint64_t begin;  // in text_
    uint32_t bytes, token;
  };
  // The keys [begin, end) start with the bytes of a node, which are so many.
  struct Branch {
    uint32_t node;
    size_t begin, end, depth;
  };
  uint32_t walk(const uint8_t* key, size_t bytes) const {
    uint32_t node = 0;
    for (size_t i = 0; i < bytes && node != kNoToken; ++i) node = next(node, key[i]);
    return node;
  }
  void set_score(Node& node, double score);
  void place_children(const Branch& branch, std::vector<Branch>& open);
  uint32_t free_base(const std::vector<uint8_t>& bytes);

  static constexpr size_t kRoom = 512;  // there are so many places after every base
  std::vector<Node> nodes_ = std::vector<Node>(kRoom);
  std::vector<double> scores_;  // by token
  bool exact_ = true;
  size_t longest_ = 0;
  // Until `finish`:
  std::vector<uint8_t> text_;
  std::vector<Key> keys_;
  size_t first_free_ = 1;
};

// Cuts words, on one thread. A word is given as its bytes, with the marks that tokens have.
class Matcher {
 public:
  Matcher(const PieceTable& pieces, const Matching& matching, bool bytes_only)
      : pieces_(pieces), matching_(matching), bytes_only_(bytes_only) {}

  struct Piece {
    uint32_t token;  // kNoToken: an unknown character; longest: no token fits here
    size_t begin, end;
  };
  // The pieces of the word, in order. `base` is the sum of scores before the word, and is updated.
  const std::vector<Piece>& cut(const uint8_t* word, size_t bytes, double& base);
  // Unigram: the same for the start of a word that goes on after these bytes, as far as its pieces are sure.
  const std::vector<Piece>& cut_start(const uint8_t* word, size_t bytes, double& base);

  // Unigram: the pieces of the word wherever it stands in a text, and how far from zero the sum before it
  // may be for them to be the same in spite of rounding. Negative: they always depend on it.
  struct Steady {
    const std::vector<Piece>& pieces;
    double limit;
  };
  Steady cut_anywhere(const uint8_t* word, size_t bytes);

 private:
  struct Best {
    double score;
    uint32_t begin, token;
  };
  size_t character(const uint8_t* word, size_t at, size_t bytes) const;
  void longest(const uint8_t* word, size_t bytes);
  template <class Real>
  void add_up(const uint8_t* word, size_t bytes, double base);
  size_t sure_end(size_t bytes) const;
  template <class Offer>
  void offer_pieces(const uint8_t* word, size_t bytes, size_t at, size_t one, Offer&& offer) const;
  void take_best(size_t bytes);

  const PieceTable& pieces_;
  const Matching& matching_;
  const bool bytes_only_;
  std::vector<Piece> found_;
  std::vector<Best> best_;
  std::vector<double> second_;  // by place: the next best sum there
};

}  // namespace volt
