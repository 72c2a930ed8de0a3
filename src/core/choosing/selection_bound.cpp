#include "choosing/selection_bound.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace volt {

namespace {

constexpr uint32_t kNoEdge = 0xFFFFFFFF;

int32_t averaged(int32_t old, bool now, int32_t fresh) {
  return old + ((now ? kWhole : 0) - old) * static_cast<int64_t>(fresh) / kWhole;
}

}  // namespace

SelectionBound::SelectionBound(const SelectionLattice& lattice, const SelectionSearch& set, size_t size)
    : lattice_(lattice),
      size_(std::min(size, lattice.tokens())),
      prices_(set.prices(kPriceUnit)),
      chosen_(lattice.tokens(), 0),
      totals_(lattice.tokens(), 0) {
  const size_t edges = lattice.first_edge(lattice.seen());
  prices_.resize(edges);
  flows_.resize(edges);
  for (size_t e = 0; e < edges; ++e) {
    prices_[e] = std::min(prices_[e], kMostPrice);
    flows_[e] = set.used()[e] ? kWhole : 0;
  }
  for (size_t w = 0; w < lattice.seen(); ++w) {
    poll();
    for (size_t e = 0; e < lattice.word(w).size; ++e)
      totals_[lattice.word(w).edges[e].token] +=
          static_cast<int64_t>(lattice.count(w)) * prices_[lattice.first_edge(w) + e];
  }
  for (const uint8_t one : set.inside()) shares_.push_back(one ? kWhole : 0);
  choose();
}

// The K largest totals; ties: the earlier token.
void SelectionBound::choose() {
  std::vector<uint32_t> order(totals_.size());
  std::iota(order.begin(), order.end(), 0);
  const auto cut = order.begin() + static_cast<ptrdiff_t>(size_);
  if (cut != order.end())
    std::nth_element(order.begin(), cut, order.end(), [&](uint32_t a, uint32_t b) {
      return totals_[a] != totals_[b] ? totals_[a] > totals_[b] : a < b;
    });
  std::fill(chosen_.begin(), chosen_.end(), 0);
  chosen_total_ = 0;
  for (auto one = order.begin(); one != cut; ++one) {
    chosen_[*one] = 1;
    chosen_total_ += totals_[*one];
  }
}

SelectionBound::Step SelectionBound::step(double length, int32_t fresh) {
  for (size_t t = 0; t < chosen_.size(); ++t) shares_[t] = averaged(shares_[t], chosen_[t], fresh);
  struct Part {
    std::vector<int64_t> totals, cost;
    std::vector<uint32_t> edge;
    int64_t paths = 0, norm = 0;
  };
  std::vector<Part> parts(lattice_.threads());
  for (Part& part : parts) {
    part.totals.assign(lattice_.tokens(), 0);
    part.cost.resize(lattice_.longest() + 1);
    part.edge.resize(lattice_.longest() + 1);
  }
  lattice_.for_each_word(false, [&](unsigned share, size_t w) {
    Part& part = parts[share];
    const WordNetwork word = lattice_.word(w);
    const auto count = static_cast<int64_t>(lattice_.count(w));
    int32_t* prices = prices_.data() + lattice_.first_edge(w);
    uint16_t* flows = flows_.data() + lattice_.first_edge(w);
    int64_t* cost = part.cost.data();
    uint32_t* edge = part.edge.data();
    std::fill_n(cost, word.length + 1, INT64_MAX);
    cost[0] = 0;
    size_t e = 0;
    for (uint32_t at = 0; at < word.length; ++at) {
      const int64_t next = cost[at] + kPriceUnit;
      if (next < cost[at + 1]) cost[at + 1] = next, edge[at + 1] = kNoEdge;
      for (; e < word.size && word.edges[e].begin == at; ++e) {
        const uint32_t end = word.edges[e].end;
        if (next + prices[e] < cost[end]) cost[end] = next + prices[e], edge[end] = static_cast<uint32_t>(e);
      }
    }
    part.paths += count * cost[word.length];
    // Edges from the last to the first: those of the path come in this order too.
    const auto last_before = [&](uint32_t place) {
      while (place > 0 && edge[place] == kNoEdge) --place;
      return place;
    };
    uint32_t at = last_before(word.length);
    for (e = word.size; e-- > 0;) {
      const bool used = at > 0 && edge[at] == e;
      if (used) at = last_before(word.edges[e].begin);
      flows[e] = static_cast<uint16_t>(averaged(flows[e], used, fresh));
      const uint32_t t = word.edges[e].token;
      const int32_t slope = flows[e] - shares_[t];
      if (slope > 0 || prices[e] > 0) {
        const int64_t coarse = slope / (kWhole / kSlopeUnit);
        part.norm += count * coarse * coarse;
        const double moved = prices[e] + std::rint(length * slope / kWhole);
        prices[e] = static_cast<int32_t>(std::clamp<double>(moved, 0, kMostPrice));
      }
      part.totals[t] += count * prices[e];
    }
  });
  Step found{-chosen_total_, 0};
  std::fill(totals_.begin(), totals_.end(), 0);
  for (const Part& part : parts) {
    found.bound += part.paths;
    found.norm += part.norm;
    for (size_t t = 0; t < totals_.size(); ++t) totals_[t] += part.totals[t];
  }
  choose();
  return found;
}

}  // namespace volt
