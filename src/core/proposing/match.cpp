#include "proposing/match.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "base/unicode.hpp"

namespace volt {

void PieceTable::add(const uint8_t* key, size_t bytes, uint32_t token, double score) {
  if (!std::isfinite(score)) throw std::invalid_argument("a score that is not a number");
  uint32_t node = kNoToken;
  for (size_t i = 0; i < bytes; ++i) {
    uint32_t to = i == 0 ? roots_[key[0]] : next_.find(node, key[i]);
    if (to == kNoToken) {
      to = static_cast<uint32_t>(nodes_.size());
      if (to == kNoToken) throw std::length_error("the tokens are too many, or too long");
      nodes_.emplace_back();
      if (i == 0) roots_[key[0]] = to;
      else next_.set(node, key[i], to);
    }
    node = to;
  }
  if (nodes_[node].token != kNoToken) throw std::invalid_argument("two tokens have the same text");
  nodes_[node] = {score, token};
  // Sums of multiples of 1/1024 are exact in 64 bits, for any text that there may be.
  const double steps = score * 1024;
  if (steps != std::floor(steps) || std::fabs(steps) > 0x1p31) exact_ = false;
}

const std::vector<Matcher::Piece>& Matcher::cut(const uint8_t* word, size_t bytes, double& base) {
  found_.clear();
  if (matching_.encoding == Encoding::longest) longest(word, bytes);
  else if (matching_.single) unigram<float>(word, bytes, base);
  else unigram<double>(word, bytes, base);
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
    at = best.end;
  }
}

// Viterbi: the best sum of scores up to every place. Of equal sums the one whose last token starts
// first wins. A character that is not a token by itself may be unknown, at a price.
template <class Real>
void Matcher::unigram(const uint8_t* word, size_t bytes, double& base) {
  constexpr uint32_t kNowhere = 0xFFFFFFFF;
  if (bytes >= kNowhere) throw std::length_error("a word of more than 4,294,967,294 bytes");
  best_.assign(bytes + 1, Best{0, kNowhere, kNoToken});
  best_[0].score = base;
  for (size_t at = 0; at < bytes;) {
    const Real before = static_cast<Real>(best_[at].score);
    const size_t one = character(word, at, bytes);
    auto offer = [&](size_t end, double score, uint32_t token) {
      const Real sum = static_cast<Real>(score) + before;
      Best& best = best_[end];
      if (best.begin == kNowhere || sum > best.score) best = {sum, static_cast<uint32_t>(at), token};
    };
    bool known = false;
    uint32_t node = pieces_.first(word[at]);
    for (size_t end = at + 1; node != kNoToken; ++end) {
      if (pieces_.token(node) != kNoToken) {
        offer(end, pieces_.score(node), pieces_.token(node));
        known = known || end == one;
      }
      if (end == bytes) break;
      node = pieces_.next(node, word[end]);
    }
    if (!known) offer(one, matching_.unknown_score, kNoToken);
    at = one;
  }
  base = best_[bytes].score;
  for (size_t end = bytes; end > 0; end = best_[end].begin)
    found_.push_back({best_[end].token, best_[end].begin, end});
  std::reverse(found_.begin(), found_.end());
}

}  // namespace volt
