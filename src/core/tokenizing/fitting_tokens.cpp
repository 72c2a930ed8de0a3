#include "tokenizing/fitting_tokens.hpp"

#include <algorithm>

#include "base/stop.hpp"
#include "tokenizing/encode_tables.hpp"

namespace volt {

// The tree while it grows.
struct FittingTokens::Tree {
  PairTable next;                                        // a node and a byte -> the next node
  std::vector<uint32_t> parents = std::vector<uint32_t>(256, kNoToken);
  std::vector<uint32_t> tokens;                          // that end at a node, or kNoToken
  std::vector<uint8_t> bytes;                            // the last byte of a node
  std::vector<uint8_t> text;                             // of the tokens
  std::vector<uint64_t> text_at;                         // by token

  uint32_t after(uint32_t node, uint8_t byte) {
    uint32_t found = next.find(node, byte);
    if (found == kNoToken) {
      found = static_cast<uint32_t>(parents.size());
      next.set(node, byte, found);
      parents.push_back(node);
      tokens.push_back(kNoToken);
      bytes.push_back(byte);
    }
    return found;
  }
};

FittingTokens::FittingTokens(const EncodeTables& tables) : tables_(tables), tokens_(tables.left.size()) {
  if (!tables.fits_tokens || tokens_.size() >= kNoToken / 2) return;
  Tree tree;
  tree.text_at.resize(tokens_.size());
  for (uint32_t byte = 0; byte < 256; ++byte) {
    const uint32_t token = tables.characters.find(byte);
    tree.text_at[token] = byte;
    tree.text.push_back(static_cast<uint8_t>(byte));
    tree.tokens.push_back(token);
    tree.bytes.push_back(static_cast<uint8_t>(byte));
    tokens_[token].order = 0;
    tokens_[token].node = byte;
  }
  tree.next.reserve(2 * tables.made.size());
  for (uint32_t rank = 0; rank < tables.made.size(); ++rank) {
    poll();
    tokens_[tables.made[rank]].order = rank + 1;
    if (!add(tables.made[rank], tree)) return;
  }
  pack(tree);
  usable_ = true;
}

// Add a token, if text can become it. Returns false if it comes before one of its parents.
bool FittingTokens::add(uint32_t token, Tree& tree) {
  const uint32_t left = tables_.left[token], right = tables_.right[token];
  if (tokens_[left].order == kNoToken || tokens_[right].order == kNoToken) return false;
  if (tokens_[left].node == kNoToken || tokens_[right].node == kNoToken) return true;
  if (!fit_before(left, right, tokens_[token].order)) return true;
  tree.text_at[token] = tree.text.size();
  tokens_[token].bytes = tokens_[left].bytes + tokens_[right].bytes;
  for (const uint32_t parent : {left, right})
    for (uint32_t i = 0; i < tokens_[parent].bytes; ++i) tree.text.push_back(tree.text[tree.text_at[parent] + i]);
  if (tree.text.size() >= kNoToken / 2) return false;
  uint32_t node = tokens_[left].node;  // its text is there already
  for (size_t i = tree.text.size() - tokens_[right].bytes; i < tree.text.size(); ++i)
    node = tree.after(node, tree.text[i]);
  tokens_[token].node = node;
  tree.tokens[node] = token;
  return true;
}

// Make the double array, and find the longest tokens. Nodes come after their parents.
void FittingTokens::pack(const Tree& tree) {
  const size_t size = tree.parents.size();
  // 1. Nodes by parent.
  std::vector<uint32_t> starts(size + 1, 0), children(size - 256);
  for (size_t node = 256; node < size; ++node) ++starts[tree.parents[node] + 1];
  for (size_t node = 0; node < size; ++node) starts[node + 1] += starts[node];
  std::vector<uint32_t> ends(starts.begin(), starts.end() - 1);
  for (size_t node = 256; node < size; ++node) children[ends[tree.parents[node]]++] = static_cast<uint32_t>(node);
  // 2. A place for each: the first ones that are free.
  std::vector<uint32_t> place(size);
  std::vector<uint8_t> taken(256, 1);
  for (uint32_t byte = 0; byte < 256; ++byte) place[byte] = byte;
  nodes_.resize(256);
  size_t first = 256;  // none before it is free
  for (uint32_t node = 0; node < size; ++node) {
    poll();
    const uint32_t *begin = children.data() + starts[node], *end = children.data() + starts[node + 1];
    if (begin == end) continue;
    while (first < taken.size() && taken[first]) ++first;
    uint32_t base = 0;
    size_t tries = 0;
    for (size_t at = first;; ++at) {
      // Few nodes have many others after them: those get places after all that are taken.
      if (++tries == 256) at = std::max(at, taken.size());
      if (at >= taken.size()) taken.resize(taken.size() + 256, 0);
      base = static_cast<uint32_t>(at) ^ tree.bytes[*begin];
      if (std::all_of(begin, end, [&](uint32_t one) { return !taken[base ^ tree.bytes[one]]; })) break;
    }
    nodes_.resize(taken.size());
    nodes_[place[node]].base = base;
    for (; begin < end; ++begin) {
      place[*begin] = base ^ tree.bytes[*begin];
      taken[place[*begin]] = 1;
      nodes_[place[*begin]].parent = place[node];
    }
  }
  // 3. The longest token on the way to each.
  longest_.resize(nodes_.size());
  for (uint32_t node = 0; node < size; ++node) {
    const uint32_t token = tree.tokens[node];
    const bool root = tree.parents[node] == kNoToken;
    const Found before = root ? Found{kNoToken, 0} : longest_[place[tree.parents[node]]];
    longest_[place[node]] = token == kNoToken ? before : Found{token, tokens_[token].bytes};
    if (token != kNoToken) tokens_[token].prefix = before.token;
  }
}

// Does no merge cross the border of the two before `limit` in the order of merges? Their merges are undone,
// the last one first. Of two merges with the same pair the left one comes first.
bool FittingTokens::fit_before(uint32_t left, uint32_t right, uint32_t limit) const {
  for (;;) {
    const uint32_t rank = tables_.pairs.find(left, right);
    if (rank != kNoToken && rank + 1 < limit) return false;
    const uint32_t before = tokens_[left].order, after = tokens_[right].order;
    if (before > after) {
      limit = before;
      left = tables_.right[left];
    } else if (after > 0) {
      limit = after + 1;
      right = tables_.left[right];
    } else {
      return true;
    }
  }
}

uint32_t* FittingEncoder::encode(const FittingTokens& known, const uint8_t* word, size_t bytes, uint32_t* out) {
  if (answers_.empty()) answers_.assign(size_t{1} << kBits, ~uint64_t{0});
  left_.assign(bytes / 64 + 1, 0);
  uint32_t* end = out;
  size_t at = 0;
  while (at < bytes) {
    poll();
    auto [token, length] = known.longest(word + at, word + bytes);
    for (;; length = known.bytes(token)) {
      const size_t stop = at + length;
      if (!(left_[stop / 64] >> (stop % 64) & 1) && (end == out || fit(known, end[-1], token))) {
        *end++ = token;
        at = stop;
        break;
      }
      token = known.prefix(token);
      if (token != kNoToken) continue;
      left_[at / 64] |= uint64_t{1} << (at % 64);
      token = *--end;
      at -= known.bytes(token);
    }
  }
  return end;
}

}  // namespace volt
