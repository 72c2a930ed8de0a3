// Bootstrap draws of word counts: other corpora of the same size that the words might have made.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/huge.hpp"

namespace volt {

// `draws` multinomial samples of sum(counts) words each, with the words' shares as probabilities.
// Row w holds the counts of word w in every draw. The same seed gives the same draws on any number
// of threads.
HugeVector<uint64_t> resample(const uint64_t* counts, size_t words, size_t draws, uint64_t seed,
                              unsigned threads);

}  // namespace volt
