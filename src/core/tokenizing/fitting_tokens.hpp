// A byte-level word -> tokens without merging, for rule `pairs` where every token comes after its parents in
// the order of merges.
//
// Two tokens *fit* if their joined text becomes exactly these two. Tokens are what a word becomes if and only
// if neighbours fit. One direction: merges do not look beyond the two tokens that they join, so a part of
// what a word becomes is what that part becomes. The other: take the first merge that would cross the border
// between two of the tokens. Up to then both were merged as they are by themselves, so it would also cross
// the border where only these two stand.
//
// So the longest token that the text goes on with is taken, or the longest prefix of it that fits the token
// before it. Where none fits, the token before was wrong, and no way leads through this place: what stands
// before a place is determined by the text before it. Each place is left at most once, so time is linear.
// github/rust-gems, crates/bpe, has the idea. `ab` repeated takes a sixth of the time of merging with a heap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/pair_table.hpp"

namespace volt {

struct EncodeTables;

class FittingTokens {
 public:
  // Not for every vocabulary: see `usable`.
  explicit FittingTokens(const EncodeTables& tables);
  bool usable() const { return usable_; }

  struct Found {
    uint32_t token, bytes;
  };
  // The longest token that text starts with.
  Found longest(const uint8_t* p, const uint8_t* end) const {
    uint32_t node = *p;
    while (++p < end) {
      const uint32_t next = nodes_[node].base ^ *p;
      if (nodes_[next].parent != node) break;
      node = next;
    }
    return longest_[node];
  }
  // The longest token that a token starts with, or kNoToken.
  uint32_t prefix(uint32_t token) const { return tokens_[token].prefix; }
  size_t bytes(uint32_t token) const { return tokens_[token].bytes; }
  bool fit(uint32_t left, uint32_t right) const { return fit_before(left, right, kNoToken); }

 private:
  struct Token {
    uint32_t order = kNoToken;  // 0: a character; else 1 + its place in the order of merges
    uint32_t bytes = 1;
    uint32_t prefix = kNoToken;
    uint32_t node = kNoToken;   // where its text ends in the tree of texts; kNoToken: no text becomes it
  };
  struct Tree;
  bool fit_before(uint32_t left, uint32_t right, uint32_t limit) const;
  bool add(uint32_t token, Tree& tree);
  void pack(const Tree& tree);

  const EncodeTables& tables_;
  bool usable_ = false;
  std::vector<Token> tokens_;
  // The tree of the texts of all tokens that text can become, as a double array: the node after `node` and
  // a byte is at base ^ byte, if its parent is `node`. Nodes of early merges, the frequent ones, come first
  // and share cache lines: 0.80 s, not 1.16 s with a hash table, where every word is cut like this.
  struct Node {
    uint32_t base = 0, parent = kNoToken;
  };
  std::vector<Node> nodes_;
  std::vector<Found> longest_;  // by node: the longest token on the way to it
};

// Encodes with fitting tokens, on one thread.
class FittingEncoder {
 public:
  // Writes the tokens of a word and returns where they end. There must be room for one per byte.
  uint32_t* encode(const FittingTokens& known, const uint8_t* word, size_t bytes, uint32_t* out);

 private:
  // Most pairs of a text were asked for before.
  static constexpr unsigned kBits = 14;
  bool fit(const FittingTokens& known, uint32_t left, uint32_t right) {
    const uint64_t pair = uint64_t{left} << 32 | right;
    uint64_t& answer = answers_[pair * 0x9E3779B97F4A7C15ull >> (64 - kBits)];
    if (answer >> 1 != pair) answer = pair << 1 | known.fit(left, right);
    return answer & 1;
  }
  std::vector<uint64_t> answers_;  // a pair and a bit
  std::vector<uint64_t> left_;     // a bit per place: no way leads through it
};

}  // namespace volt
