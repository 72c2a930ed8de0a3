#include "choosing/selection_search.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "base/pair_table.hpp"
#include "base/stop.hpp"

namespace volt {

namespace {

constexpr uint32_t kNoEdge = 0xFFFFFFFF;

using Sums = std::vector<std::vector<uint64_t>>;  // by thread, then by token

Sums no_sums(const SelectionLattice& lattice) {
  return Sums(lattice.threads(), std::vector<uint64_t>(lattice.tokens(), 0));
}

std::vector<uint64_t> added(Sums&& parts) {
  for (size_t share = 1; share < parts.size(); ++share)
    for (size_t t = 0; t < parts[0].size(); ++t) parts[0][t] += parts[share][t];
  return std::move(parts[0]);
}

// Calls visit(e) for the edges of the path that ends at the end of the word, from the last to the first.
template <class Visit>
void walk_back(const WordNetwork& word, const uint32_t* edge, Visit&& visit) {
  for (uint32_t at = word.length; at > 0;) {
    if (edge[at] == kNoEdge) {
      --at;
      continue;
    }
    visit(edge[at]);
    at = word.edges[edge[at]].begin;
  }
}

}  // namespace

std::vector<uint64_t> count_uses(const SelectionLattice& lattice, const std::vector<uint32_t>& costs,
                                 uint32_t symbol) {
  Sums parts = no_sums(lattice);
  std::vector<std::vector<uint64_t>> sums(lattice.threads(), std::vector<uint64_t>(lattice.longest() + 1));
  std::vector<std::vector<uint32_t>> last(lattice.threads(), std::vector<uint32_t>(lattice.longest() + 1));
  lattice.for_each_word(true, [&](unsigned share, size_t w) {
    const WordNetwork word = lattice.word(w);
    uint64_t* cost = sums[share].data();
    uint32_t* edge = last[share].data();
    std::fill_n(cost, word.length + 1, ~uint64_t{0});
    cost[0] = 0;
    size_t e = 0;
    for (uint32_t at = 0; at < word.length; ++at) {
      const uint64_t here = cost[at];
      if (here + symbol < cost[at + 1]) cost[at + 1] = here + symbol, edge[at + 1] = kNoEdge;
      for (; e < word.size && word.edges[e].begin == at; ++e) {
        const Edge& one = word.edges[e];
        if (costs[one.token] == kNever || here + costs[one.token] >= cost[one.end]) continue;
        cost[one.end] = here + costs[one.token], edge[one.end] = static_cast<uint32_t>(e);
      }
    }
    walk_back(word, edge, [&](uint32_t used) { parts[share][word.edges[used].token] += lattice.weight(w); });
  });
  return added(std::move(parts));
}

std::vector<uint64_t> count_places(const SelectionLattice& lattice) {
  std::vector<uint64_t> found(lattice.tokens(), 0);
  for (uint32_t t = 0; t < found.size(); ++t) {
    poll();
    for (const Place* place = lattice.places_begin(t); place != lattice.places_end(t); ++place)
      found[t] += lattice.weight(place->word);
  }
  return found;
}

SelectionSearch::SelectionSearch(const SelectionLattice& lattice, std::vector<uint8_t> inside)
    : lattice_(lattice), inside_(std::move(inside)), used_(lattice.edges(), 0), cost_(lattice.words(), 0),
      scratch_(scratch()) {
  for (const uint8_t one : inside_) size_ += one != 0;
  std::vector<Scratch> scratches(lattice.threads(), scratch_);
  lattice.for_each_word(true, [&](unsigned share, size_t w) { set_path(w, scratches[share]); });
  for (size_t w = 0; w < lattice.words(); ++w) {
    total_ += lattice.count(w) * cost_[w];
    value_ += lattice.weight(w) * cost_[w];
  }
}

SelectionSearch::Scratch SelectionSearch::scratch() const {
  const std::vector<uint32_t> places(lattice_.longest() + 1);
  return {places, places, places, places};
}

// The fewest tokens of a word with the set, less one token, more another one. The scratch has the last edge
// of the best path to every place.
uint32_t SelectionSearch::shortest(size_t w, uint32_t without, uint32_t with, Scratch& scratch) const {
  const WordNetwork word = lattice_.word(w);
  uint32_t* cost = scratch.cost.data();
  uint32_t* edge = scratch.edge.data();
  std::fill_n(cost, word.length + 1, ~0u);
  cost[0] = 0;
  size_t e = 0;
  for (uint32_t at = 0; at < word.length; ++at) {
    const uint32_t next = cost[at] + 1;
    if (next < cost[at + 1]) cost[at + 1] = next, edge[at + 1] = kNoEdge;
    for (; e < word.size && word.edges[e].begin == at; ++e) {
      const Edge& one = word.edges[e];
      if (next >= cost[one.end]) continue;
      if (one.token == without || !(inside_[one.token] || one.token == with)) continue;
      cost[one.end] = next, edge[one.end] = static_cast<uint32_t>(e);
    }
  }
  return cost[word.length];
}

// The fewest tokens from the start of a word to every place, and from there to its end.
void SelectionSearch::distances(size_t w, Scratch& scratch) const {
  const WordNetwork word = lattice_.word(w);
  uint32_t *from = scratch.from.data(), *to = scratch.to.data();
  std::fill_n(from, word.length + 1, ~0u);
  from[0] = to[word.length] = 0;
  size_t e = 0;
  for (uint32_t at = 0; at < word.length; ++at) {
    from[at + 1] = std::min(from[at + 1], from[at] + 1);
    for (; e < word.size && word.edges[e].begin == at; ++e)
      if (inside_[word.edges[e].token])
        from[word.edges[e].end] = std::min(from[word.edges[e].end], from[at] + 1);
  }
  for (uint32_t at = word.length; at-- > 0;) {
    to[at] = to[at + 1] + 1;
    for (; e > 0 && word.edges[e - 1].begin == at; --e)
      if (inside_[word.edges[e - 1].token]) to[at] = std::min(to[at], to[word.edges[e - 1].end] + 1);
  }
}

void SelectionSearch::set_path(size_t w, Scratch& scratch) {
  cost_[w] = shortest(w, kNoToken, kNoToken, scratch);
  const WordNetwork word = lattice_.word(w);
  uint8_t* used = used_.data() + lattice_.first_edge(w);
  std::fill_n(used, word.size, 0);
  walk_back(word, scratch.edge.data(), [&](uint32_t e) { used[e] = 1; });
}

uint64_t SelectionSearch::loss(uint32_t t) const {
  uint64_t sum = 0;
  uint32_t last = kNoToken;
  for (const Place* place = lattice_.places_begin(t); place != lattice_.places_end(t); ++place) {
    if (!used_[place->edge] || place->word == last) continue;
    poll();
    last = place->word;
    sum += lattice_.weight(last) * (shortest(last, t, kNoToken, scratch_) - cost_[last]);
  }
  return sum;
}

uint64_t SelectionSearch::gain(uint32_t t) const {
  uint64_t sum = 0;
  uint32_t last = kNoToken;
  for (const Place* place = lattice_.places_begin(t); place != lattice_.places_end(t); ++place) {
    if (place->word == last || cost_[place->word] == 1) continue;
    poll();
    last = place->word;
    sum += lattice_.weight(last) * (cost_[last] - shortest(last, kNoToken, t, scratch_));
  }
  return sum;
}

std::vector<uint64_t> SelectionSearch::losses() const {
  Sums parts = no_sums(lattice_);
  std::vector<Scratch> scratches(lattice_.threads(), scratch_);
  lattice_.for_each_word(true, [&](unsigned share, size_t w) {
    const WordNetwork word = lattice_.word(w);
    const uint8_t* used = used_.data() + lattice_.first_edge(w);
    for (size_t e = 0; e < word.size; ++e) {
      if (!used[e]) continue;
      const uint32_t t = word.edges[e].token;
      bool again = false;  // a word may use a token twice
      for (size_t before = 0; before < e && !again; ++before)
        again = used[before] && word.edges[before].token == t;
      if (!again)
        parts[share][t] += lattice_.weight(w) * (shortest(w, t, kNoToken, scratches[share]) - cost_[w]);
    }
  });
  return added(std::move(parts));
}

std::vector<uint64_t> SelectionSearch::gains() const {
  Sums parts = no_sums(lattice_);
  std::vector<Scratch> scratches(lattice_.threads(), scratch_);
  std::vector<std::vector<std::pair<uint32_t, uint32_t>>> lists(lattice_.threads());
  lattice_.for_each_word(true, [&](unsigned share, size_t w) {
    const WordNetwork word = lattice_.word(w);
    const uint32_t best = cost_[w];
    if (best == 1) return;
    distances(w, scratches[share]);
    auto& saved = lists[share];  // token, and how many tokens it saves in this word
    saved.clear();
    for (size_t e = 0; e < word.size; ++e) {
      const Edge& one = word.edges[e];
      const uint32_t through = scratches[share].from[one.begin] + 1 + scratches[share].to[one.end];
      if (inside_[one.token] || through >= best) continue;
      const auto known = std::find_if(saved.begin(), saved.end(),
                                      [&](const auto& entry) { return entry.first == one.token; });
      if (known == saved.end()) saved.emplace_back(one.token, best - through);
      else known->second = std::max(known->second, best - through);
    }
    for (const auto& [token, tokens] : saved) parts[share][token] += lattice_.weight(w) * tokens;
  });
  return added(std::move(parts));
}

std::vector<int32_t> SelectionSearch::prices(int32_t unit) const {
  std::vector<int32_t> prices(lattice_.edges(), 0);
  std::vector<Scratch> scratches(lattice_.threads(), scratch_);
  lattice_.for_each_word(false, [&](unsigned share, size_t w) {
    const WordNetwork word = lattice_.word(w);
    const size_t first = lattice_.first_edge(w);
    Scratch& scratch = scratches[share];
    distances(w, scratch);
    for (size_t e = 0; e < word.size; ++e) {
      const Edge& one = word.edges[e];
      const uint32_t through = scratch.from[one.begin] + 1 + scratch.to[one.end];
      if (!inside_[one.token] && through < cost_[w])
        prices[first + e] = static_cast<int32_t>(cost_[w] - through) * unit;
      else if (used_[first + e])
        prices[first + e] = static_cast<int32_t>(shortest(w, one.token, kNoToken, scratch) - cost_[w]) * unit / 2;
    }
  });
  return prices;
}

void SelectionSearch::remove(uint32_t t) {
  inside_[t] = 0;
  --size_;
  for (const Place* place = lattice_.places_begin(t); place != lattice_.places_end(t); ++place) {
    if (!used_[place->edge]) continue;
    poll();
    const uint32_t before = cost_[place->word];
    set_path(place->word, scratch_);
    total_ += lattice_.count(place->word) * (cost_[place->word] - before);
    value_ += lattice_.weight(place->word) * (cost_[place->word] - before);
  }
}

void SelectionSearch::add(uint32_t t) {
  inside_[t] = 1;
  ++size_;
  for (const Place* place = lattice_.places_begin(t); place != lattice_.places_end(t); ++place) {
    poll();
    const uint32_t before = cost_[place->word];
    if (before == 1 || shortest(place->word, kNoToken, kNoToken, scratch_) == before) continue;
    set_path(place->word, scratch_);
    total_ -= lattice_.count(place->word) * (before - cost_[place->word]);
    value_ -= lattice_.weight(place->word) * (before - cost_[place->word]);
  }
}

SelectionSearch::Moves SelectionSearch::prune(size_t size) {
  using Entry = std::pair<uint64_t, uint32_t>;  // the loss, and the token with its bits inverted
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  if (size_ > size) {
    const std::vector<uint64_t> now = losses();
    for (uint32_t t = 0; t < inside_.size(); ++t)
      if (inside_[t]) queue.emplace(now[t], ~t);
  }
  Moves moves;
  while (size_ > size) {
    const auto [claimed, inverted] = queue.top();
    queue.pop();
    poll();
    const uint64_t exact = loss(~inverted);
    if (exact > claimed) {
      queue.emplace(exact, inverted);
      continue;
    }
    remove(~inverted);
    moves.tokens.push_back(~inverted);
    moves.values.push_back(exact);
  }
  return moves;
}

SelectionSearch::Moves SelectionSearch::grow(size_t size) {
  using Entry = std::pair<uint64_t, uint32_t>;
  std::priority_queue<Entry> queue;
  if (size_ < size) {
    const std::vector<uint64_t> now = gains();
    for (uint32_t t = 0; t < inside_.size(); ++t)
      if (!inside_[t] && now[t] > 0) queue.emplace(now[t], ~t);
  }
  Moves moves;
  while (size_ < size && !queue.empty()) {
    const auto [claimed, inverted] = queue.top();
    queue.pop();
    poll();
    const uint64_t exact = gain(~inverted);
    if (exact < claimed) {
      if (exact > 0) queue.emplace(exact, inverted);
      continue;
    }
    add(~inverted);
    moves.tokens.push_back(~inverted);
    moves.values.push_back(exact);
  }
  return moves;
}

}  // namespace volt
