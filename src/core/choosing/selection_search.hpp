// Sets of tokens that cut the words into as few tokens as possible: exact losses and gains, and the steps
// of a local search. All go by the weights of the lattice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "choosing/selection_lattice.hpp"

namespace volt {

constexpr uint32_t kNever = 0xFFFFFFFF;

// How much weight each token has on the cheapest paths, where a use of token t costs costs[t] and a symbol
// costs `symbol`. Of equal paths the one whose last token begins first is taken. Tokens at kNever are not
// used.
std::vector<uint64_t> count_uses(const SelectionLattice& lattice, const std::vector<uint32_t>& costs,
                                 uint32_t symbol);

// The weight of all words in which each token occurs, once for every place.
std::vector<uint64_t> count_places(const SelectionLattice& lattice);

// A set of tokens, and the fewest tokens that each word can be cut into with it.
class SelectionSearch {
 public:
  SelectionSearch(const SelectionLattice& lattice, std::vector<uint8_t> inside);

  uint64_t total() const { return total_; }   // tokens of the corpus
  uint64_t value() const { return value_; }   // the same sum over weights: what is made small
  size_t size() const { return size_; }
  const std::vector<uint8_t>& inside() const { return inside_; }

  uint64_t loss(uint32_t t) const;       // what removing t adds to the value, exactly
  uint64_t gain(uint32_t t) const;       // what adding t takes away, exactly
  std::vector<uint64_t> losses() const;  // of all tokens of the set
  std::vector<uint64_t> gains() const;   // of all others; a lower bound where a word contains one twice

  // Prices of edges, in price units, that suggest themselves: an edge outside the set costs what it would
  // save in its word, a used one half of what its loss would add there.
  std::vector<int32_t> prices(int32_t unit) const;
  const std::vector<uint8_t>& used() const { return used_; }

  struct Moves {
    std::vector<uint32_t> tokens;
    std::vector<uint64_t> values;
  };
  // Remove the token with the smallest loss while the set has more than `size` tokens; ties: the later
  // token. Losses change while tokens go, so the smallest is computed again before it is believed.
  Moves prune(size_t size);
  // Add the token with the largest gain while the set has fewer than `size` tokens and something is gained;
  // ties: the earlier token.
  Moves grow(size_t size);

 private:
  struct Scratch {
    std::vector<uint32_t> cost, edge, from, to;
  };
  Scratch scratch() const;
  uint32_t shortest(size_t w, uint32_t without, uint32_t with, Scratch& scratch) const;
  void distances(size_t w, Scratch& scratch) const;
  void set_path(size_t w, Scratch& scratch);
  void remove(uint32_t t);
  void add(uint32_t t);

  const SelectionLattice& lattice_;
  std::vector<uint8_t> inside_, used_;  // by token; by edge: is it on the path of its word?
  std::vector<uint32_t> cost_;          // by word
  uint64_t total_ = 0, value_ = 0;
  size_t size_ = 0;
  mutable Scratch scratch_;
};

}  // namespace volt
