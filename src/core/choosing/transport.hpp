// The sums over the support that an iteration of the transport solver takes.
// src/volt/choosing/transport_problem.py has the mathematics.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace volt {

// The pairs of token and character that may carry mass: token j has the characters
// character[pointer[j] .. pointer[j + 1]], ascending, and at least one.
struct Support {
  const int32_t* pointer;
  const int32_t* character;
  size_t tokens, characters;
};

struct Limits {
  const double *lower, *upper, *log_lower, *log_upper;  // of each token's mass
};

// No entry of the plan falls below exp(this) of the largest of its token.
constexpr double kSmallestExponent = -300;

// For given character potentials: the mass of each token within its limits, and the plan. A character
// whose potential is -inf has no mass; every token has at least one other.
void token_half_step(const Support& support, const double* costs, double gamma,
                     const double* potential, const Limits& limits, double* plan, double* log_sum,
                     double* token_mass, double* character_mass);

// The support by character: tokens token[pointer[i] .. pointer[i + 1]] contain character i.
struct ByCharacter {
  std::vector<int32_t> pointer, token;
};
ByCharacter by_character(const Support& support);

// A symmetric matrix, characters x characters: its upper half with the diagonal, row by row.
struct SymmetricPattern {
  std::vector<int32_t> pointer, column;
};
// Which characters share a token.
SymmetricPattern shared_tokens(const Support& support, const int32_t* by_pointer,
                               const int32_t* by_token);

struct Symmetric {
  const int32_t *pointer, *column;
  const double* value;
  size_t rows;
};
// value_ik = scale_i scale_k sum_j weight_j P_ij P_kj, on the pattern of shared_tokens.
void couple(const Support& support, const int32_t* by_pointer, const int32_t* by_token,
            const double* plan, const double* weight, const double* scale,
            const int32_t* pattern_pointer, const int32_t* pattern_column, double* value);

// (I - theta G)^-1 right by conjugate gradients, to `enough` of the right side's square.
void solve_coupled(const Symmetric& coupling, double theta, double enough, const double* right,
                   double* result);

}  // namespace volt
