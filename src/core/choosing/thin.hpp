// Splits of a corpus: how many occurrences of each word are held out. volt.reference.splits has the slow
// twin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/word_view.hpp"

namespace volt {

// Every occurrence is held out with probability 1/10. How many of a word's occurrences that makes is a
// quantile of the binomial distribution, at a level in [0, 1) that depends on the seed, the split and the
// word's bytes only. So words in another order give the same numbers, and a count that changes by one moves
// its number by at most one. (From 1,000 to 1,001 occurrences, where the normal approximation begins, it
// moves by two in the far tails.)
std::vector<uint64_t> thin(const WordView& words, uint64_t seed, uint64_t split);

// The level of one word: 53 bits of a hash.
double thinning_level(const uint8_t* word, size_t bytes, uint64_t seed, uint64_t split);

// The smallest number h such that at most h of `count` occurrences are held out with a probability of at
// least `level`.
uint64_t held_out(uint64_t count, double level);

// The row of each word of the part among the words of the whole; -1 if it is not there.
std::vector<int64_t> find_words(const WordView& whole, const WordView& part);

}  // namespace volt
