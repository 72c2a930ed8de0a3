// Word types as networks of tokens: nodes are the places between symbols, and every candidate that a word
// contains is an edge over the symbols it covers (METHOD 5). A single symbol is always a token, so its
// edges are not stored.
//
// A token may be worth something in the corpus and nothing in other text, because it is part of one word
// only. So every word is there twice. The first has all its edges; of its count, up to 3/4 of an occurrence
// goes to the second, which stands for words that were not seen yet and has only the edges of tokens that
// two word types or more contain. Weights are what a search goes by; counts are the corpus, and zero for the
// second half of the words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/parallel.hpp"
#include "base/word_view.hpp"
#include "proposing/pieces.hpp"

namespace volt {

struct Edge {
  uint32_t token;
  uint16_t begin, end;
};

// An edge of a token, and the word that it is in.
struct Place {
  uint32_t word, edge;
};

// A word: its edges, in the order of their begin, then of their end.
struct WordNetwork {
  const Edge* edges;
  size_t size;
  uint32_t length;  // in symbols
};

class SelectionLattice {
 public:
  // The first `alphabet` keys are symbols. Edges number the other keys, from zero on. Counts are whole
  // numbers of 1/`unit`. Throws std::length_error for words or counts that are too large.
  SelectionLattice(const KeyView& keys, size_t alphabet, const WordView& words, uint64_t unit, WordMark mark,
                   bool bytes_only, unsigned threads);

  size_t words() const { return counts_.size(); }
  size_t seen() const { return counts_.size() / 2; }  // words before the second half
  size_t tokens() const { return tokens_; }
  size_t edges() const { return edges_.size(); }
  unsigned threads() const { return threads_; }
  uint64_t count(size_t w) const { return counts_[w]; }
  uint64_t weight(size_t w) const { return weights_[w]; }
  uint32_t longest() const { return longest_; }
  size_t first_edge(size_t w) const { return starts_[w]; }
  WordNetwork word(size_t w) const {
    return {edges_.data() + starts_[w], starts_[w + 1] - starts_[w], lengths_[w]};
  }
  // All edges of a token, in the order of the words.
  const Place* places_begin(uint32_t t) const { return places_.data() + place_starts_[t]; }
  const Place* places_end(uint32_t t) const { return places_.data() + place_starts_[t + 1]; }
  // Calls work(share, w) for every word, in shares of about as many edges, each on a thread of its own.
  // Only words that were seen, or all of them.
  template <class Work>
  void for_each_word(bool all, Work&& work) const {
    run_parallel(threads_, [&](unsigned share) {
      const size_t words = all ? counts_.size() : seen(), end = share_begin(share + 1, words);
      for (size_t w = share_begin(share, words); w < end; ++w) {
        poll();
        work(share, w);
      }
    });
  }

 private:
  void add_words(const KeyView& keys, size_t alphabet, const WordView& words, WordMark mark, bool bytes_only);
  void add_unseen(uint64_t unit);
  void index();
  size_t share_begin(unsigned share, size_t words) const;

  size_t tokens_;
  unsigned threads_;
  uint32_t longest_ = 0;
  std::vector<Edge> edges_;
  std::vector<uint64_t> starts_, counts_, weights_;
  std::vector<uint16_t> lengths_;
  std::vector<Place> places_;
  std::vector<uint64_t> place_starts_;
};

}  // namespace volt
