// A lower bound of the tokens that any vocabulary of K candidates needs: the Lagrangian dual of METHOD 5.
//
//   D(l) = sum_w n_w * shortest path(1 + l) - (sum of the K largest L_t),   L_t = sum over t's edges of n l
//
// Prices l are whole numbers of 1/kPriceUnit, so every sum is exact, whatever the number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "choosing/selection_lattice.hpp"
#include "choosing/selection_search.hpp"

namespace volt {

constexpr int32_t kPriceUnit = 1 << 12;
constexpr int32_t kMostPrice = 64 * kPriceUnit;
constexpr int32_t kWhole = 1 << 14;     // flows and shares are whole numbers of 1/kWhole
constexpr int32_t kSlopeUnit = 1 << 7;  // slopes in the norm are whole numbers of 1/kSlopeUnit

class SelectionBound {
 public:
  // Starts from the prices and the cut that a set of K tokens suggests.
  SelectionBound(const SelectionLattice& lattice, const SelectionSearch& set, size_t size);

  struct Step {
    int64_t bound;  // D at the prices before the step, in 1/kPriceUnit tokens
    int64_t norm;   // sum over edges of n * slope^2, in 1/kSlopeUnit^2
  };
  // One pass over the words: D at the present prices, then prices move by `length` price units along the
  // slope, x - y. Both x, the flow on an edge, and y, the share of its token, are averages in which the newest
  // has the weight `fresh` of kWhole. A price of zero does not fall, and is not in the norm.
  Step step(double length, int32_t fresh);

  const std::vector<int32_t>& prices() const { return prices_; }  // by edge of the words that were seen

 private:
  void choose();

  const SelectionLattice& lattice_;
  size_t size_;
  std::vector<int32_t> prices_;
  std::vector<uint16_t> flows_;   // x, by edge
  std::vector<int32_t> shares_;   // y, by token
  std::vector<uint8_t> chosen_;   // is it among the K largest totals?
  std::vector<int64_t> totals_;   // L_t
  int64_t chosen_total_ = 0;
};

}  // namespace volt
