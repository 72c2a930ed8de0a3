// The held-out quality of a vocabulary: an interpolated Kneser-Ney model over the tokens inside words.
// volt.reference.quality has the slow twin, and says what is computed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace volt {

// Word w is tokens[offsets[w]..offsets[w+1]). It occurs train[w] times in the text that the model is fitted
// to, and held[w] times in the text that it is tested on.
struct TokenWords {
  const uint32_t* tokens;
  const uint64_t* offsets;
  const uint64_t* train;
  const uint64_t* held;
  size_t words;
};

struct KneserNeyOptions {
  uint64_t rows = 0;   // tokens that the model chooses from, whether they occur or not
  unsigned order = 3;  // 1 to kHighestOrder
  bool ends = true;    // is the end of a word predicted, as one more token?
};

constexpr unsigned kHighestOrder = 6;

struct HeldOutLoss {
  double nats = 0;         // -ln P, summed over the held-out words
  uint64_t predicted = 0;  // tokens, and ends of words, that were predicted
};

// The sums are made in a fixed order.
HeldOutLoss kneser_ney(const TokenWords& words, const KneserNeyOptions& options);

}  // namespace volt
