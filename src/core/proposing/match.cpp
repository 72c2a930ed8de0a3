#include "proposing/match.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <set>
#include <stdexcept>

#include "base/stop.hpp"
#include "base/unicode.hpp"

namespace volt {

constexpr size_t kPace = 1 << 14;  // bytes of a word between two looks whether to stop

void PieceTable::add(const uint8_t* key, size_t bytes, uint32_t token, double score) {
  if (!std::isfinite(score)) throw std::invalid_argument("a score that is not a number");
  keys_.push_back({text_.size(), static_cast<uint32_t>(bytes), token});
  text_.insert(text_.end(), key, key + bytes);
  if (token >= scores_.size()) scores_.resize(token + size_t{1});
  scores_[token] = score;
  longest_ = std::max(longest_, bytes);
  // Sums of multiples of 1/1024 are exact in 64 bits, for any text that there may be.
  const double steps = score * 1024;
  if (steps != std::floor(steps) || std::fabs(steps) > 0x1p31) exact_ = false;
}

void PieceTable::set_score(Node& node, double score) {
  scores_[node.token] = score;
  node.score = static_cast<float>(score);
  if (node.score != score) node.score = NAN;
}

void PieceTable::set_score(const uint8_t* key, size_t bytes, double score) {
  set_score(nodes_[walk(key, bytes)], score);
}

void PieceTable::finish() {
  if (text_.size() >= kNoToken / 2) throw std::length_error("the tokens are too many, or too long");
  sort_stoppable(keys_.begin(), keys_.end(), [&](const Key& a, const Key& b) {
    const int c = std::memcmp(&text_[a.begin], &text_[b.begin], std::min(a.bytes, b.bytes));
    return c != 0 ? c < 0 : a.bytes < b.bytes;
  });
  nodes_[0].parent = kNoToken - 1;  // taken, and nobody's child
  std::vector<Branch> open{{0, 0, keys_.size(), 0}};
  while (!open.empty()) {
    poll();
    const Branch branch = open.back();
    open.pop_back();
    place_children(branch, open);
  }
  text_ = {};
  keys_ = {};
}

void PieceTable::place_children(const Branch& branch, std::vector<Branch>& open) {
  const size_t depth = branch.depth;
  std::vector<uint8_t> bytes;
  const size_t before = open.size();
  for (size_t k = branch.begin; k < branch.end; ++k) {
    const Key& key = keys_[k];
    if (key.bytes == depth) {  // the key of the node itself, or of the root, which is none
      if (nodes_[branch.node].token != kNoToken) throw std::invalid_argument("two tokens have the same text");
      if (depth > 0) {
        nodes_[branch.node].token = key.token;
        set_score(nodes_[branch.node], scores_[key.token]);
      }
      continue;
    }
    const uint8_t byte = text_[key.begin + depth];
    if (bytes.empty() || bytes.back() != byte) {
      bytes.push_back(byte);
      open.push_back({0, k, k, depth + 1});
    }
    ++open.back().end;
  }
  if (bytes.empty()) return;
  const uint32_t base = free_base(bytes);
  nodes_[branch.node].base = base;
  for (size_t i = 0; i < bytes.size(); ++i) {
    const uint32_t node = base + bytes[i];
    nodes_[node].parent = branch.node;
    open[before + i].node = node;
  }
}

// A base from which the places of these bytes are free. Places where a search has been long are not
// looked at again, so the time is linear in the nodes.
uint32_t PieceTable::free_base(const std::vector<uint8_t>& bytes) {
  constexpr size_t kLong = 64;
  while (nodes_[first_free_].parent != kNoToken) ++first_free_;
  size_t at = std::max<size_t>(first_free_, bytes[0]);
  for (size_t tried = 1;; ++at, ++tried) {
    if (at + kRoom > nodes_.size()) nodes_.resize(at + 2 * kRoom);
    const Node* base = &nodes_[at - bytes[0]];
    if (std::all_of(bytes.begin(), bytes.end(), [&](uint8_t byte) { return base[byte].parent == kNoToken; }))
      break;
    if (tried == kLong) first_free_ = at;
  }
  return static_cast<uint32_t>(at - bytes[0]);
}

const std::vector<Matcher::Piece>& Matcher::cut(const uint8_t* word, size_t bytes, double& base) {
  found_.clear();
  if (matching_.encoding == Encoding::longest) {
    longest(word, bytes);
  } else {
    matching_.single ? add_up<float>(word, bytes, base) : add_up<double>(word, bytes, base);
    base = best_[bytes].score;
    take_best(bytes);
  }
  return found_;
}

// Where the character at `at` ends. The mark of a start belongs to the character after it, the mark of
// an end to the character before it.
size_t Matcher::character(const uint8_t* word, size_t at, size_t bytes) const {
  if (bytes_only_) return at + 1;
  if (word[at] == kStartMark) ++at;
  at += sequence_length(word[at]);
  return at < bytes && word[at] == kFinalMark ? at + 1 : at;
}

void Matcher::longest(const uint8_t* word, size_t bytes) {
  PollEvery pace(kPace);
  for (size_t at = 0; at < bytes;) {
    Piece best{kNoToken, at, 0};
    uint32_t node = pieces_.first(word[at]);
    for (size_t end = at + 1; node != kNoToken; ++end) {
      // The last token of a word must have the mark of an end.
      if (pieces_.token(node) != kNoToken && (bytes_only_ || end == bytes || word[end] != kFinalMark))
        best = {pieces_.token(node), at, end};
      if (end == bytes) break;
      node = pieces_.next(node, word[end]);
    }
    if (best.token == kNoToken) best.end = character(word, at, bytes);
    found_.push_back(best);
    pace.done(best.end - at);
    at = best.end;
  }
}

// Calls offer(end, score, token) for every token that starts at `at`. A character that is not a token by
// itself may be unknown, at a price.
template <class Offer>
void Matcher::offer_pieces(const uint8_t* word, size_t bytes, size_t at, size_t one, Offer&& offer) const {
  bool known = false;
  uint32_t node = pieces_.first(word[at]);
  for (size_t end = at + 1; node != kNoToken; ++end) {
    if (const uint32_t token = pieces_.token(node); token != kNoToken) {
      offer(end, pieces_.score(node), token);
      known = known || end == one;
    }
    if (end == bytes) break;
    node = pieces_.next(node, word[end]);
  }
  if (!known) offer(one, matching_.unknown_score, kNoToken);
}

constexpr uint32_t kNowhere = 0xFFFFFFFF;

// Viterbi: the best sum of scores up to every place. Of equal sums the one whose last token starts
// first wins.
template <class Real>
void Matcher::add_up(const uint8_t* word, size_t bytes, double base) {
  if (bytes >= kNowhere) throw std::length_error("a word of more than 4,294,967,294 bytes");
  best_.assign(bytes + 1, Best{0, kNowhere, kNoToken});
  best_[0].score = base;
  PollEvery pace(kPace);
  for (size_t at = 0; at < bytes;) {
    const Real before = static_cast<Real>(best_[at].score);
    const size_t one = character(word, at, bytes);
    offer_pieces(word, bytes, at, one, [&](size_t end, double score, uint32_t token) {
      const Real sum = static_cast<Real>(score) + before;
      Best& best = best_[end];
      if (best.begin == kNowhere || sum > best.score) best = {sum, static_cast<uint32_t>(at), token};
    });
    pace.done(one - at);
    at = one;
  }
}

const std::vector<Matcher::Piece>& Matcher::cut_start(const uint8_t* word, size_t bytes, double& base) {
  found_.clear();
  matching_.single ? add_up<float>(word, bytes, base) : add_up<double>(word, bytes, base);
  size_t sure = sure_end(bytes);
  // The rest is text, and not taken for a new word.
  while (sure > 0 && (is_continuation(word[sure]) || (matching_.restart && word[sure] == ' ')))
    sure = best_[sure].begin;
  if (sure > 0) base = best_[sure].score;
  take_best(sure);
  return found_;
}

// Where the best paths to the last places meet. One of these places is on the best path of the whole word,
// because no piece is longer than they are together, and what is best up to a place does not depend on
// what comes after it.
size_t Matcher::sure_end(size_t bytes) const {
  const size_t last = std::max(pieces_.longest(), size_t{8});  // an unknown character has up to 6 bytes
  if (bytes <= last) return 0;
  std::set<size_t> ends;
  for (size_t end = bytes - last + 1; end <= bytes; ++end)
    if (best_[end].begin != kNowhere) ends.insert(end);
  while (ends.size() > 1) ends.insert(best_[ends.extract(std::prev(ends.end())).value()].begin);
  return *ends.begin() < bytes ? *ends.begin() : 0;
}

void Matcher::take_best(size_t bytes) {
  for (size_t end = bytes; end > 0; end = best_[end].begin)
    found_.push_back({best_[end].token, best_[end].begin, end});
  std::reverse(found_.begin(), found_.end());
}

// The same from zero, with the distance between the best and the next best sum at every place. Let u be
// the rounding unit, n the characters of the word, which has at most n additions, M the largest sum, and S
// the sum before the word. Rounding moves a sum by at most n*u*(S+M), and scores that become 32-bit numbers,
// or sums here that are rounded as well, move it by at most n*u*M. Two sums may move towards each other:
// 2*n*u*(S+2M) in all; 2.25 leaves room for products of errors. Distances above that on the best path mean
// that the pieces are the same. So hardly any word has to be cut again: the words of a text are remembered as
// in the other encodings (6x the speed).
Matcher::Steady Matcher::cut_anywhere(const uint8_t* word, size_t bytes) {
  found_.clear();
  best_.assign(bytes + 1, Best{0, kNowhere, kNoToken});
  second_.assign(bytes + 1, -HUGE_VAL);
  double largest = 0;
  size_t characters = 0;
  for (size_t at = 0; at < bytes; ++characters) {
    const double before = best_[at].score;
    const size_t one = character(word, at, bytes);
    offer_pieces(word, bytes, at, one, [&](size_t end, double score, uint32_t token) {
      const double sum = score + before;
      largest = std::max(largest, std::fabs(score) + std::fabs(before));
      Best& best = best_[end];
      if (best.begin == kNowhere || sum > best.score) {
        if (best.begin != kNowhere) second_[end] = best.score;
        best = {sum, static_cast<uint32_t>(at), token};
      } else {
        second_[end] = std::max(second_[end], sum);
      }
    });
    at = one;
  }
  take_best(bytes);
  double distance = HUGE_VAL;
  for (const Piece& piece : found_) distance = std::min(distance, best_[piece.end].score - second_[piece.end]);
  const double unit = matching_.single ? 0x1p-24 : 0x1p-53;
  return {found_, distance / (2.25 * unit * static_cast<double>(characters)) - 2 * largest};
}

}  // namespace volt
