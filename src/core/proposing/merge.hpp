// Word counts -> BPE merges, the candidates of a vocabulary. volt.reference.merges has the slow twin.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/word_view.hpp"
#include "counting/pretokenizer.hpp"

namespace volt {

struct MergeOptions {
  Pretokenizer pretokenizer = Pretokenizer::metaspace;
  uint64_t merges = 100'000;
  double coverage = 0;            // share of the characters that must be in the alphabet; 0: default
  uint32_t max_token_length = 0;  // in characters of text; 0: no limit
  uint64_t min_frequency = 2;     // pairs rarer than this are not merged
  unsigned threads = 1;
};

// Tokens are numbered. First comes the alphabet, by code point; in `whitespace` mode a character at the
// end of a word is a symbol of its own, right after the plain one; in `byte-level` mode the alphabet is
// all 256 bytes. If characters were left out of the alphabet, one symbol for all of them follows. Then
// come the tokens that the merges make.
struct MergeResult {
  std::vector<uint8_t> text;            // the tokens' text, without marks
  std::vector<uint64_t> offsets;        // token t is text[offsets[t]..offsets[t+1])
  std::vector<uint8_t> word_final;      // 1: the token has the mark of a word's end
  std::vector<uint32_t> lengths;        // characters of text (bytes in byte-level mode)
  std::vector<uint64_t> alphabet_counts;
  int64_t unknown = -1;                 // the symbol of left-out characters, or -1
  uint64_t left_out = 0;                // how many different characters were left out
  std::vector<uint32_t> left, right;    // merge m joins these into token alphabet_counts.size() + m
  std::vector<uint64_t> pair_counts;    // how often the two were neighbours when merge m was chosen
  std::vector<uint64_t> merge_counts;   // how often they were merged (fewer where pairs overlap, `aaa`)
  std::vector<uint64_t> whole_words;    // per token: how many words consist of this token only

  uint32_t add_token(const std::string& its_text, bool is_word_final, uint32_t length);
  std::string text_of(uint32_t token) const {
    return std::string(text.begin() + offsets[token], text.begin() + offsets[token + 1]);
  }
};

// `progress(merges_done)` is called from time to time and may throw to stop.
MergeResult learn_merges(const WordView& words, const MergeOptions& options,
                         const std::function<void(uint64_t)>& progress);

}  // namespace volt
