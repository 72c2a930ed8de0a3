// What an encoder reads of its vocabulary: tables made from tokens that may contradict each other.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/pair_table.hpp"
#include "counting/pretokenizer.hpp"
#include "proposing/match.hpp"
#include "tokenizing/fitting_tokens.hpp"
#include "tokenizing/name_table.hpp"

namespace volt {

enum class TokenKind : uint8_t { special, symbol, byte, character, merged, piece };

// Which neighbours can merge: only the two parents of a token, or any two whose joined text is a token.
enum class MergeRule : uint8_t { pairs, concat };

// The tokens of a vocabulary, and after them the hidden ones, which merges pass through but which are
// split again before they come out. Token t is text[offsets[t]..offsets[t+1]): the name of a special
// token or symbol, the byte of a byte token, else the text it stands for.
struct TokenView {
  const uint8_t* text;
  const uint64_t* offsets;
  const uint8_t* kinds;
  const uint8_t* marks;   // 1: has the mark of a word's end, 2: that of a word's start
  const uint32_t* left;   // the parents of a merged token
  const uint32_t* right;
  const uint64_t* ranks;
  const double* scores;   // unigram
  size_t size;
  size_t visible;         // how many are not hidden
  uint32_t unknown;       // the token of characters that are not in the vocabulary, or kNoToken
  bool fuse_unknown;      // a run of unknown characters is one token
  // Rule `concat`: all pairs that make a token, if they are known: two tokens and the place of what they
  // make in the order of merges. Null: they are looked for, which takes most of the time.
  const uint32_t* pairs = nullptr;
  size_t pairs_size = 0;

  TokenKind kind(uint32_t t) const { return static_cast<TokenKind>(kinds[t]); }
  const uint8_t* begin(uint32_t t) const { return text + offsets[t]; }
  const uint8_t* end(uint32_t t) const { return text + offsets[t + 1]; }
  size_t bytes(uint32_t t) const { return offsets[t + 1] - offsets[t]; }
};

// Code point -> token, in pages of 256.
class CharacterTable {
 public:
  CharacterTable() : page_of_(0x110000 >> 8, 0), tokens_(256, kNoToken) {}
  uint32_t find(uint32_t code_point) const {
    return tokens_[page_of_[code_point >> 8] + (code_point & 255)];
  }
  // False if the character already has a token.
  bool set(uint32_t code_point, uint32_t token);

 private:
  std::vector<uint32_t> page_of_;  // where the page starts
  std::vector<uint32_t> tokens_;   // the first page is empty
};

struct EncodeTables {
  // Throws std::invalid_argument where the tokens contradict each other.
  EncodeTables(Pretokenizer pretokenizer, MergeRule rule, const Matching& matching, const TokenView& tokens);
  ~EncodeTables();
  EncodeTables(const EncodeTables&) = delete;
  EncodeTables& operator=(const EncodeTables&) = delete;

  bool bytes_only() const { return is_byte_level(pretokenizer); }
  // A looked-up token may contain letters and digits, say, so words are cut at spaces only, as in the
  // toolkits whose files have such tokens.
  WordEnds word_ends() const {
    const bool looks_up = matching.encoding != Encoding::merge;
    return looks_up && matching.word_ends == WordEnds::kinds ? WordEnds::spaces : matching.word_ends;
  }
  bool keeps_runs() const { return word_ends() == WordEnds::runs; }
  // The place in the order of merges of what two characters make, or kNoToken.
  uint32_t find_first(uint32_t left_token, uint32_t right_token) const {
    const uint32_t a = left_token - first_character, b = right_token - first_character;
    return a < square_side && b < square_side ? square[a * square_side + b]
                                              : pairs.find(left_token, right_token);
  }

  // The tokens as a tree, made when they are first asked for: that takes as long as merging about ten bytes
  // per token.
  const FittingTokens& fitting() const;

  Pretokenizer pretokenizer;
  Matching matching;
  PieceTable pieces;
  bool marks_end;  // the last character of a word has a mark
  size_t visible;
  uint32_t unknown;
  bool fuse_unknown;
  bool remembers;      // what a word becomes does not depend on the words before it
  std::vector<double> scores;  // by token, if it does
  bool fits_tokens;    // rule `pairs`, and a token for each byte
  bool tracks_merges;  // which two tokens a hidden one was merged from differs from word to word
  CharacterTable characters, final_characters;  // byte-level: by byte
  std::vector<uint32_t> byte_tokens;            // empty if unknown characters are not spelled in bytes
  NameTable names;
  PairTable pairs;                    // two tokens -> place of what they make in the order of merges
  std::vector<uint32_t> made;         // by place in the order of merges
  std::vector<uint32_t> left, right;  // parents
  size_t longest = 1;                 // characters of the longest token; byte-level: bytes

 private:
  void add_characters(const TokenView& tokens);
  void add_unused_bytes();
  void add_pieces(const TokenView& tokens);
  void add_whole_words(const TokenView& tokens);
  void add_pairs(const TokenView& tokens, MergeRule rule);
  void add_all_pairs(const TokenView& tokens);
  void add_known_pairs(const TokenView& tokens);
  void make_square(const TokenView& tokens);

  mutable std::atomic<const FittingTokens*> fitting_{nullptr};  // no lock: a process may fork while it is made

  // `pairs` for two characters, as a square, if there are not many and their ids are consecutive: every
  // word starts with a lookup for every two neighbours.
  uint32_t first_character = 0, square_side = 0;
  std::vector<uint32_t> square;
};

}  // namespace volt
