#include "choosing/selection_lattice.hpp"

#include <algorithm>
#include <stdexcept>

#include "base/pair_table.hpp"
#include "base/unicode.hpp"

namespace volt {

namespace {

constexpr uint16_t kInside = 0xFFFF;  // not between two symbols
constexpr uint64_t kMostMass = uint64_t{1} << 44;

// For every place in the bytes of a word, the number of symbols before it, or kInside.
uint32_t number_places(const std::vector<uint8_t>& key, bool bytes_only, std::vector<uint16_t>& numbers) {
  numbers.assign(key.size() + 1, kInside);
  uint32_t symbols = 0;
  for (size_t at = 0; at < key.size(); ++symbols) {
    if (symbols >= kInside - 1)
      throw std::length_error("a word of more than 65,534 characters: selecting tokens needs shorter words");
    numbers[at] = static_cast<uint16_t>(symbols);
    if (bytes_only) {
      ++at;
      continue;
    }
    if (key[at] == kStartMark) ++at;
    at += sequence_length(key[at]);
    if (at < key.size() && key[at] == kFinalMark) ++at;
  }
  numbers[key.size()] = static_cast<uint16_t>(symbols);
  return symbols;
}

}  // namespace

SelectionLattice::SelectionLattice(const KeyView& keys, size_t alphabet, const WordView& words, uint64_t unit,
                                   WordMark mark, bool bytes_only, unsigned threads)
    : tokens_(keys.size - alphabet), threads_(threads) {
  add_words(keys, alphabet, words, mark, bytes_only);
  add_unseen(unit);
  index();
}

void SelectionLattice::add_words(const KeyView& keys, size_t alphabet, const WordView& words, WordMark mark,
                                 bool bytes_only) {
  PieceTable table;
  for (size_t t = alphabet; t < keys.size; ++t)
    if (keys.inside[t])
      table.add(keys.text + keys.offsets[t], keys.offsets[t + 1] - keys.offsets[t],
                static_cast<uint32_t>(t - alphabet), 0);
  table.finish();
  counts_.assign(words.counts, words.counts + words.words);
  starts_.assign(words.words + 1, 0);
  lengths_.assign(words.words, 0);
  std::vector<std::vector<Edge>> found(threads_);
  run_parallel(threads_, [&](unsigned share) {
    std::vector<uint8_t> key;
    std::vector<uint16_t> numbers;
    const size_t begin = words.words * share / threads_, end = words.words * (share + 1) / threads_;
    for (size_t w = begin; w < end; ++w) {
      poll();
      marked_key(words, w, mark, key);
      lengths_[w] = static_cast<uint16_t>(number_places(key, bytes_only, numbers));
      const size_t before = found[share].size();
      for (size_t at = 0; at < key.size(); ++at) {
        if (numbers[at] == kInside) continue;
        uint32_t node = table.first(key[at]);
        for (size_t to = at + 1; node != kNoToken; ++to) {
          if (table.token(node) != kNoToken && numbers[to] != kInside)
            found[share].push_back({table.token(node), numbers[at], numbers[to]});
          if (to == key.size()) break;
          node = table.next(node, key[to]);
        }
      }
      starts_[w + 1] = found[share].size() - before;
    }
  });
  uint64_t mass = 0;
  for (size_t w = 0; w < words.words; ++w) {
    poll();
    longest_ = std::max<uint32_t>(longest_, lengths_[w]);
    // Losses, gains and the bound are sums of counts, times what is below; they must fit into 63 bits.
    const uint64_t edges = starts_[w + 1] + lengths_[w];
    if (counts_[w] >= kMostMass / edges || (mass += counts_[w] * edges) >= kMostMass)
      throw std::length_error("the counts are too large to select tokens: use smaller weights");
    starts_[w + 1] += starts_[w];
  }
  edges_.reserve(2 * starts_.back());
  for (auto& part : found) {
    edges_.insert(edges_.end(), part.begin(), part.end());
    std::vector<Edge>().swap(part);
  }
}

// The second half of the words.
void SelectionLattice::add_unseen(uint64_t unit) {
  const size_t words = counts_.size();
  std::vector<uint32_t> last(tokens_, kNoToken);
  std::vector<uint8_t> shared(tokens_, 0);
  for (size_t w = 0; w < words; ++w) {
    poll();
    for (size_t e = starts_[w]; e < starts_[w + 1]; ++e) {
      const uint32_t t = edges_[e].token;
      if (last[t] != kNoToken && last[t] != w) shared[t] = 1;
      last[t] = static_cast<uint32_t>(w);
    }
  }
  weights_.resize(2 * words);
  counts_.resize(2 * words, 0);
  lengths_.resize(2 * words);
  for (size_t w = 0; w < words; ++w) {
    poll();
    const uint64_t unseen = 3 * std::min(unit, counts_[w]);
    weights_[w] = 4 * counts_[w] - unseen;
    weights_[words + w] = unseen;
    lengths_[words + w] = lengths_[w];
    for (size_t e = starts_[w]; e < starts_[w + 1]; ++e)
      if (shared[edges_[e].token]) edges_.push_back(edges_[e]);
    starts_.push_back(edges_.size());
  }
  if (starts_.back() >= kNoToken || 2 * words >= kNoToken)
    throw std::length_error("too many candidates in too many words to select from: use fewer candidates");
}

void SelectionLattice::index() {
  place_starts_.assign(tokens_ + 1, 0);
  for (const Edge& edge : edges_) ++place_starts_[edge.token + 1];
  for (size_t t = 0; t < tokens_; ++t) place_starts_[t + 1] += place_starts_[t];
  places_.resize(edges_.size());
  std::vector<uint64_t> next(place_starts_.begin(), place_starts_.end() - 1);
  for (size_t w = 0; w < words(); ++w) {
    poll();
    for (size_t e = starts_[w]; e < starts_[w + 1]; ++e)
      places_[next[edges_[e].token]++] = {static_cast<uint32_t>(w), static_cast<uint32_t>(e)};
  }
}

size_t SelectionLattice::share_begin(unsigned share, size_t words) const {
  if (share == threads_) return words;
  const uint64_t work = (starts_[words] + words) * share / threads_;
  // The work before word w is starts_[w] + w, which rises with w.
  size_t low = 0, high = words;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (starts_[middle] + middle < work) low = middle + 1;
    else high = middle;
  }
  return low;
}

}  // namespace volt
