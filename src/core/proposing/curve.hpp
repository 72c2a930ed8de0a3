// The exact state of the corpus at every vocabulary size along one run of merges.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace volt {

// A row describes the corpus after some number of merges.
struct CurveSums {
  std::vector<uint64_t> tokens;         // tokens in the corpus
  std::vector<uint64_t> types;          // token types in use
  std::vector<uint64_t> type_length;    // sum of the lengths of the types in use
  std::vector<double> f_ln_f;           // sum over types of f ln f
  std::vector<double> f_power;          // sum over types of f^2.5 (Renyi efficiency)
  std::vector<uint64_t> frequent;       // merged types seen at least `often` times
};

// A merge done k times changes three counts: its left and right tokens lose k, the token it makes,
// number alphabet + m for merge m, gains k (a token merged with itself loses 2k). `lengths` has an item
// per token. The result has a row for each number of merges in `rows` (rising).
CurveSums curve_sums(const uint64_t* alphabet_counts, size_t alphabet, const uint32_t* lengths,
                     const uint32_t* left, const uint32_t* right, const uint64_t* merge_counts,
                     const uint64_t* rows, size_t row_count, uint64_t often);

// Push-down: every token that is not kept hands its frequency to its two parents, from the last merge to
// the first. Symbols are always kept.
void push_down(const uint32_t* left, const uint32_t* right, size_t alphabet, size_t merges,
               const uint8_t* keep, uint64_t* frequency);

// Marks everything that the marked tokens are merged from.
void closure(const uint32_t* left, const uint32_t* right, size_t alphabet, size_t merges, uint8_t* marked);

// R^2 of the least-squares line of ln frequency on ln rank after each number of merges in `rows`
// (rising), over the types in use. NaN where there are fewer than three, or all are equally frequent.
std::vector<double> zipf_fit(const uint64_t* alphabet_counts, size_t alphabet, const uint32_t* left,
                             const uint32_t* right, const uint64_t* merge_counts,
                             const uint64_t* rows, size_t row_count);

}  // namespace volt
