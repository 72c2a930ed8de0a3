#include "choosing/transport.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/stop.hpp"

namespace volt {

void token_half_step(const Support& support, const double* costs, double gamma,
                     const double* potential, const Limits& limits, double* plan, double* log_sum,
                     double* token_mass, double* character_mass) {
  const size_t characters = support.characters;
  double top = -std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < characters; ++i) top = std::max(top, potential[i]);
  // One exponential per character, if a token's characters all cost the same (the paper's cost).
  std::vector<double> factor(characters);
  for (size_t i = 0; i < characters; ++i) factor[i] = std::exp(potential[i] - top);
  std::fill(character_mass, character_mass + characters, 0.0);
  const double smallest_ratio = std::exp(kSmallestExponent);

  for (size_t j = 0; j < support.tokens; ++j) {
    poll();
    const int32_t begin = support.pointer[j], end = support.pointer[j + 1];
    double total = 0, least = std::numeric_limits<double>::infinity(), most = 0;
    bool fits = true;
    for (int32_t e = begin; e < end; ++e) {
      const int32_t i = support.character[e];
      const double value = factor[i];
      plan[e] = value;
      total += value;
      most = std::max(most, value);
      fits &= costs[e] == costs[begin];
      if (value > 0)
        least = std::min(least, value);
      else
        fits &= potential[i] == -INFINITY;  // really no mass, not just too little for a double
    }
    // Every factor is exact but for its last digit, and none is below the smallest.
    if (fits && most > 1e-150 && least >= most * smallest_ratio) {
      log_sum[j] = top - costs[begin] / gamma + std::log(total);
    } else {
      // The largest exponent is taken out of the sum: no exp overflows, none that matters underflows.
      double largest = -std::numeric_limits<double>::infinity();
      for (int32_t e = begin; e < end; ++e)
        largest = std::max(largest, potential[support.character[e]] - costs[e] / gamma);
      total = 0;
      for (int32_t e = begin; e < end; ++e) {
        const double at = potential[support.character[e]];
        plan[e] = at == -INFINITY
                      ? 0.0
                      : std::exp(std::max(at - costs[e] / gamma - largest, kSmallestExponent));
        total += plan[e];
      }
      log_sum[j] = largest + std::log(total);
    }
    const double s = log_sum[j];
    token_mass[j] = s <= limits.log_lower[j]   ? limits.lower[j]
                    : s >= limits.log_upper[j] ? limits.upper[j]
                                               : std::clamp(std::exp(s), limits.lower[j], limits.upper[j]);
    const double share = token_mass[j] / total;
    for (int32_t e = begin; e < end; ++e) {
      plan[e] *= share;
      character_mass[support.character[e]] += plan[e];
    }
  }
}

ByCharacter by_character(const Support& support) {
  ByCharacter result;
  result.pointer.assign(support.characters + 1, 0);
  const auto entries = static_cast<size_t>(support.pointer[support.tokens]);
  for (size_t e = 0; e < entries; ++e) ++result.pointer[support.character[e] + 1];
  for (size_t i = 0; i < support.characters; ++i) result.pointer[i + 1] += result.pointer[i];
  result.token.resize(entries);
  std::vector<int32_t> next(result.pointer.begin(), result.pointer.end() - 1);
  for (size_t j = 0; j < support.tokens; ++j)
    for (int32_t e = support.pointer[j]; e < support.pointer[j + 1]; ++e)
      result.token[next[support.character[e]]++] = static_cast<int32_t>(j);
  return result;
}

namespace {

// Calls visit(i, j, e) for every character i, ascending, and each of its tokens j, where e is the
// place of i in j; and end_row(i) after each character. Characters ascend in a token, too, so one
// cursor per token finds the place.
template <class Visit, class EndRow>
void walk(const Support& support, const int32_t* by_pointer, const int32_t* by_token, Visit visit,
          EndRow end_row) {
  std::vector<int32_t> cursor(support.pointer, support.pointer + support.tokens);
  for (size_t i = 0; i < support.characters; ++i) {
    for (int32_t at = by_pointer[i]; at < by_pointer[i + 1]; ++at) {
      const int32_t j = by_token[at];
      visit(i, j, cursor[j]++);
    }
    end_row(i);
    poll();
  }
}

}  // namespace

SymmetricPattern shared_tokens(const Support& support, const int32_t* by_pointer,
                               const int32_t* by_token) {
  SymmetricPattern result;
  result.pointer.push_back(0);
  std::vector<int32_t> seen(support.characters, -1);
  walk(
      support, by_pointer, by_token,
      [&](size_t i, int32_t j, int32_t e) {
        for (; e < support.pointer[j + 1]; ++e) {
          const int32_t k = support.character[e];
          if (seen[k] == static_cast<int32_t>(i)) continue;
          seen[k] = static_cast<int32_t>(i);
          result.column.push_back(k);
        }
      },
      [&](size_t) {
        std::sort(result.column.begin() + result.pointer.back(), result.column.end());
        result.pointer.push_back(static_cast<int32_t>(result.column.size()));
      });
  result.column.shrink_to_fit();
  return result;
}

void couple(const Support& support, const int32_t* by_pointer, const int32_t* by_token,
            const double* plan, const double* weight, const double* scale,
            const int32_t* pattern_pointer, const int32_t* pattern_column, double* value) {
  const size_t n = support.characters;
  const auto entries = static_cast<size_t>(support.pointer[support.tokens]);
  if (n * n <= 4 * entries) {
    // Token by token into a square: 0.5 ms. The walk below, which jumps from token to token, takes
    // 1.5 ms (80,000 entries, 204 characters).
    std::vector<double> square(n * n, 0.0);
    for (size_t j = 0; j < support.tokens; ++j) {
      poll();
      if (weight[j] == 0) continue;
      for (int32_t e = support.pointer[j]; e < support.pointer[j + 1]; ++e) {
        const double first = weight[j] * plan[e];
        double* row = square.data() + n * static_cast<size_t>(support.character[e]);
        for (int32_t f = e; f < support.pointer[j + 1]; ++f) row[support.character[f]] += first * plan[f];
      }
    }
    for (size_t i = 0; i < n; ++i)
      for (int32_t at = pattern_pointer[i]; at < pattern_pointer[i + 1]; ++at) {
        const auto k = static_cast<size_t>(pattern_column[at]);
        value[at] = scale[i] * scale[k] * square[n * i + k];
      }
    return;
  }
  std::vector<double> row(support.characters, 0.0);
  walk(
      support, by_pointer, by_token,
      [&](size_t, int32_t j, int32_t e) {
        const double first = weight[j] * plan[e];
        if (first == 0) return;
        for (; e < support.pointer[j + 1]; ++e) row[support.character[e]] += first * plan[e];
      },
      [&](size_t i) {
        for (int32_t at = pattern_pointer[i]; at < pattern_pointer[i + 1]; ++at) {
          const int32_t k = pattern_column[at];
          value[at] = scale[i] * scale[k] * row[k];
          row[k] = 0;
        }
      });
}

void solve_coupled(const Symmetric& coupling, double theta, double enough, const double* right,
                   double* result) {
  const size_t n = coupling.rows;
  std::vector<double> left(right, right + n), direction(right, right + n), image(n);
  const auto dot = [n](const std::vector<double>& a, const std::vector<double>& b) {
    double sum = 0;
    for (size_t i = 0; i < n; ++i) sum += a[i] * b[i];
    return sum;
  };
  std::fill(result, result + n, 0.0);
  double square = dot(left, left);
  enough *= square;
  for (size_t round = 0; round < 2 * n + 10 && square > enough; ++round) {
    poll();
    std::copy(direction.begin(), direction.end(), image.begin());
    for (size_t i = 0; i < n; ++i) {
      const double mine = theta * direction[i];
      double sum = 0;
      for (int32_t at = coupling.pointer[i]; at < coupling.pointer[i + 1]; ++at) {
        const auto k = static_cast<size_t>(coupling.column[at]);
        sum += coupling.value[at] * direction[k];
        if (k != i) image[k] -= coupling.value[at] * mine;
      }
      image[i] -= theta * sum;
    }
    const double length = square / dot(direction, image);
    for (size_t i = 0; i < n; ++i) {
      result[i] += length * direction[i];
      left[i] -= length * image[i];
    }
    const double previous = std::exchange(square, dot(left, left));
    for (size_t i = 0; i < n; ++i) direction[i] = left[i] + square / previous * direction[i];
  }
}

}  // namespace volt
