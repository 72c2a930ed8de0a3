// WordPiece: merges chosen by likelihood, the count of a pair over the product of its tokens' counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "proposing/pieces.hpp"

namespace volt {

// Words as symbols: word w is symbols[offsets[w]..offsets[w+1]).
struct SpelledWords {
  const uint32_t* symbols;
  const uint64_t* offsets;
  const uint64_t* counts;
  size_t words;
};

struct LikelihoodOptions {
  uint64_t merges = 0;
  uint64_t min_frequency = 2;     // a pair rarer than this is not merged
  uint32_t max_token_length = 0;  // in symbols; 0: no limit
  uint32_t unknown = kNoToken;    // a symbol that is not merged
  WordMark mark = WordMark::none;
};

struct LikelihoodMerges {
  std::vector<uint32_t> left, right;
  std::vector<uint64_t> pair_counts, merge_counts;
  std::vector<uint32_t> tokens;   // of all words, one after the other, after all merges
  std::vector<uint64_t> offsets;  // word w is tokens[offsets[w]..offsets[w+1])
};

// `alphabet` has the text of each symbol without marks, `marked` tells which have one. `progress` is
// called from time to time and may throw to stop.
LikelihoodMerges likelihood_merges(const SpelledWords& words, std::vector<std::string> alphabet,
                                   std::vector<uint8_t> marked, const LikelihoodOptions& options,
                                   const std::function<void(uint64_t)>& progress);

}  // namespace volt
