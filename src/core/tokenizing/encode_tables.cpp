#include "tokenizing/encode_tables.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>
#include <numeric>
#include <stdexcept>

#include "base/stop.hpp"
#include "base/unicode.hpp"

namespace volt {
namespace {

constexpr uint32_t kMostInSquare = 512;  // characters
constexpr size_t kMostPairs = size_t{1} << 26;

// The texts of the tokens that take part in merging, with their marks, forwards or backwards.
struct Keys {
  std::vector<uint8_t> text;
  std::vector<uint64_t> offsets{0};

  size_t size() const { return offsets.size() - 1; }
  size_t length(uint32_t key) const { return offsets[key + 1] - offsets[key]; }
  const uint8_t* begin(uint32_t key) const { return text.data() + offsets[key]; }
  bool is_prefix(uint32_t a, uint32_t b) const {
    return length(a) <= length(b) && std::memcmp(begin(a), begin(b), length(a)) == 0;
  }
};

// For every key the longest other key that it starts with, or kNoToken. In sorted order the prefixes of
// a key are among the keys before it: those that are still on the stack.
std::vector<uint32_t> longest_prefixes(const Keys& keys) {
  std::vector<uint32_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  sort_stoppable(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    const size_t both = std::min(keys.length(a), keys.length(b));
    const int c = std::memcmp(keys.begin(a), keys.begin(b), both);
    return c != 0 ? c < 0 : keys.length(a) < keys.length(b);
  });
  std::vector<uint32_t> prefix(keys.size(), kNoToken), stack;
  for (const uint32_t key : order) {
    while (!stack.empty() && !keys.is_prefix(stack.back(), key)) stack.pop_back();
    if (!stack.empty()) {
      if (keys.length(stack.back()) == keys.length(key))
        throw std::invalid_argument("two tokens have the same text");
      prefix[key] = stack.back();
    }
    stack.push_back(key);
  }
  return prefix;
}

bool is_mergeable(const TokenView& tokens, uint32_t t) {
  return tokens.kind(t) == TokenKind::character || tokens.kind(t) == TokenKind::merged;
}

// Is the token `left` and `right` joined?
bool is_joined(const TokenView& tokens, uint32_t t, uint32_t left, uint32_t right) {
  return tokens.bytes(t) == tokens.bytes(left) + tokens.bytes(right) && !tokens.marks[left] &&
         tokens.marks[t] == tokens.marks[right] &&
         std::memcmp(tokens.begin(t), tokens.begin(left), tokens.bytes(left)) == 0 &&
         std::memcmp(tokens.begin(t) + tokens.bytes(left), tokens.begin(right), tokens.bytes(right)) == 0;
}

// A merged token is its parents joined. They may have a higher rank than it has.
void check_merges(const TokenView& tokens) {
  for (uint32_t t = 0; t < tokens.size; ++t) {
    poll();
    if (tokens.kind(t) != TokenKind::merged) continue;
    const uint32_t left = tokens.left[t], right = tokens.right[t];
    for (const uint32_t parent : {left, right}) {
      if (parent >= tokens.size) throw std::invalid_argument("a parent that does not exist");
      const auto kind = tokens.kind(parent);
      if (kind != TokenKind::character && kind != TokenKind::merged)
        throw std::invalid_argument("a parent that does not merge");
    }
    if (!is_joined(tokens, t, left, right))
      throw std::invalid_argument("a merged token that is not its parents joined");
  }
}

}  // namespace

bool CharacterTable::set(uint32_t code_point, uint32_t token) {
  uint32_t& page = page_of_[code_point >> 8];
  if (page == 0) {
    page = static_cast<uint32_t>(tokens_.size());
    tokens_.resize(tokens_.size() + 256, kNoToken);
  }
  uint32_t& place = tokens_[page + (code_point & 255)];
  if (place != kNoToken) return false;
  place = token;
  return true;
}

EncodeTables::EncodeTables(Pretokenizer cuts, MergeRule rule, const Matching& how, const TokenView& tokens)
    : pretokenizer(cuts),
      matching(how),
      marks_end(cuts == Pretokenizer::whitespace && !how.marks_start),
      visible(tokens.visible),
      unknown(tokens.unknown),
      fuse_unknown(tokens.fuse_unknown && tokens.unknown != kNoToken),
      fits_tokens(is_byte_level(cuts) && rule == MergeRule::pairs && how.encoding == Encoding::merge),
      tracks_merges(tokens.size > tokens.visible && rule == MergeRule::concat) {
  if (tokens.size >= kNoToken || tokens.visible > tokens.size)
    throw std::invalid_argument("too many tokens");
  // In bytes a mark would be a character of its own, and a word could have more ids than bytes.
  if (matching.marks_start && pretokenizer != Pretokenizer::whitespace)
    throw std::invalid_argument("a mark of inner tokens is for whitespace text");
  add_characters(tokens);
  if (matching.encoding == Encoding::merge) {
    check_merges(tokens);
    add_pairs(tokens, rule);
    make_square(tokens);
    if (matching.whole_words) add_whole_words(tokens);
  } else {
    add_pieces(tokens);
  }
  pieces.finish();
  remembers = matching.encoding != Encoding::unigram || (pieces.exact() && !matching.single) ||
              (matching.restart && pretokenizer != Pretokenizer::metaspace);
  if (!remembers) scores.assign(tokens.scores, tokens.scores + tokens.visible);
  const bool spells = bytes_only() || !byte_tokens.empty();
  if (!spells && unknown >= visible)
    throw std::invalid_argument("no token for unknown characters");
}

EncodeTables::~EncodeTables() { delete fitting_.load(); }

const FittingTokens& EncodeTables::fitting() const {
  const FittingTokens* known = fitting_.load(std::memory_order_acquire);
  if (known == nullptr) {
    auto made_now = std::make_unique<const FittingTokens>(*this);
    if (fitting_.compare_exchange_strong(known, made_now.get())) known = made_now.release();
  }
  return *known;
}

void EncodeTables::add_characters(const TokenView& tokens) {
  size_t bytes_known = 0, characters_known = 0;
  std::vector<uint32_t> of_byte(256, kNoToken);
  for (uint32_t t = 0; t < tokens.size; ++t) {
    poll();
    const uint8_t* text = tokens.begin(t);
    const size_t bytes = tokens.bytes(t);
    const auto kind = tokens.kind(t);
    const bool merges = matching.encoding == Encoding::merge;
    if (kind > TokenKind::piece || (kind == TokenKind::merged && !merges) ||
        (kind == TokenKind::piece && merges && !matching.whole_words))
      throw std::invalid_argument("a kind of token that this encoding does not have");
    if (kind != TokenKind::merged && t >= tokens.visible)
      throw std::invalid_argument("a hidden token that is not merged from others");
    if (bytes == 0) throw std::invalid_argument("a token without text");
    if (kind == TokenKind::byte) {
      if (bytes != 1 || of_byte[*text] != kNoToken)
        throw std::invalid_argument("a byte token that is not one byte, or occurs twice");
      of_byte[*text] = t;
      ++bytes_known;
    }
    if (kind <= TokenKind::symbol) names.add(text, bytes, t, kind == TokenKind::symbol);
    if (kind != TokenKind::character) continue;
    ++characters_known;
    uint32_t code_point = *text;
    if (bytes_only()) {
      if (bytes != 1) throw std::invalid_argument("a byte character of several bytes");
    } else {
      if (find_invalid_utf8(text, text + bytes) || sequence_length(*text) != bytes)
        throw std::invalid_argument("a character token that is not one character");
      code_point = decode(text).code_point;
    }
    if (matching.encoding != Encoding::merge) continue;
    CharacterTable& table = tokens.marks[t] ? final_characters : characters;
    if (!table.set(code_point, t)) throw std::invalid_argument("a character occurs twice");
  }
  names.finish();
  if (bytes_only() && characters_known != 256) add_unused_bytes();
  if (bytes_known != 0 && bytes_known != 256)
    throw std::invalid_argument("some byte tokens are missing");
  if (bytes_known) byte_tokens = std::move(of_byte);
}

// Some vocabularies lack bytes that UTF-8 never uses. A word that has one all the same, which no text
// gives, gets another token for it.
void EncodeTables::add_unused_bytes() {
  if (matching.encoding != Encoding::merge) throw std::invalid_argument("byte-level needs all 256 bytes");
  fits_tokens = false;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    if (characters.find(byte) != kNoToken) continue;
    if (byte != 0xC0 && byte != 0xC1 && byte < 0xF5)
      throw std::invalid_argument("byte-level needs all bytes that UTF-8 uses");
    characters.set(byte, characters.find(0xC2));
  }
}

void EncodeTables::add_pairs(const TokenView& tokens, MergeRule rule) {
  for (uint32_t t = 0; t < tokens.size; ++t) {
    if (tokens.kind(t) >= TokenKind::merged)
      longest = std::max(longest, bytes_only() ? tokens.bytes(t) : count_characters(tokens.begin(t), tokens.end(t)));
    if (tokens.kind(t) == TokenKind::merged) made.push_back(t);
  }
  std::stable_sort(made.begin(), made.end(),
                   [&](uint32_t a, uint32_t b) { return tokens.ranks[a] < tokens.ranks[b]; });
  left.assign(tokens.left, tokens.left + tokens.size);
  right.assign(tokens.right, tokens.right + tokens.size);
  if (rule == MergeRule::pairs) {
    pairs.reserve(made.size());
    for (uint32_t rank = 0; rank < made.size(); ++rank)
      pairs.set(left[made[rank]], right[made[rank]], rank);
  } else if (tokens.pairs != nullptr) {
    add_known_pairs(tokens);
  } else {
    add_all_pairs(tokens);
  }
}

// Pairs that were found before. They come from a file, so each is checked.
void EncodeTables::add_known_pairs(const TokenView& tokens) {
  pairs.reserve(tokens.pairs_size);
  for (size_t i = 0; i < tokens.pairs_size; ++i) {
    poll();
    const uint32_t a = tokens.pairs[3 * i], b = tokens.pairs[3 * i + 1], place = tokens.pairs[3 * i + 2];
    if (a >= tokens.size || b >= tokens.size || place >= made.size() || !is_mergeable(tokens, a) ||
        !is_mergeable(tokens, b) || !is_joined(tokens, made[place], a, b))
      throw std::invalid_argument("a pair that does not make its token");
    pairs.set(a, b, place);
  }
}

// Every way to cut a token into two others: a prefix and a suffix of it that together fill it.
void EncodeTables::add_all_pairs(const TokenView& tokens) {
  Keys forward, backward;
  std::vector<uint32_t> token_of, key_of(tokens.size, kNoToken);
  for (uint32_t t = 0; t < tokens.size; ++t) {
    if (!is_mergeable(tokens, t)) continue;
    const uint8_t *begin = tokens.begin(t), *end = tokens.end(t);
    key_of[t] = static_cast<uint32_t>(token_of.size());
    token_of.push_back(t);
    forward.text.insert(forward.text.end(), begin, end);
    if (tokens.marks[t]) {
      forward.text.push_back(kFinalMark);
      backward.text.push_back(kFinalMark);
    }
    backward.text.insert(backward.text.end(), std::reverse_iterator(end), std::reverse_iterator(begin));
    forward.offsets.push_back(forward.text.size());
    backward.offsets.push_back(backward.text.size());
  }
  const std::vector<uint32_t> prefix = longest_prefixes(forward), suffix = longest_prefixes(backward);
  struct Pair {
    uint32_t left, right, rank;
  };
  std::vector<Pair> found;
  std::vector<uint32_t> suffixes;
  for (uint32_t rank = 0; rank < made.size(); ++rank) {
    poll();
    const uint32_t key = key_of[made[rank]];
    suffixes.clear();
    for (uint32_t s = suffix[key]; s != kNoToken; s = suffix[s]) suffixes.push_back(s);
    uint32_t p = prefix[key];
    while (p != kNoToken && !suffixes.empty()) {
      const size_t both = forward.length(p) + forward.length(suffixes.back());
      if (both == forward.length(key)) found.push_back({token_of[p], token_of[suffixes.back()], rank});
      if (both >= forward.length(key)) p = prefix[p];
      if (both <= forward.length(key)) suffixes.pop_back();
    }
    if (found.size() > kMostPairs) throw std::length_error("too many pairs of tokens make a token");
  }
  pairs.reserve(found.size());
  for (const Pair& pair : found) {
    poll();
    pairs.set(pair.left, pair.right, pair.rank);
  }
}

void EncodeTables::add_pieces(const TokenView& tokens) {
  std::vector<uint8_t> key;
  for (uint32_t t = 0; t < tokens.visible; ++t) {
    poll();
    const auto kind = tokens.kind(t);
    if (kind != TokenKind::character && kind != TokenKind::piece) continue;
    const bool starts = matching.marks_start && tokens.marks[t] == 2;
    key.clear();
    if (starts) key.push_back(kStartMark);
    key.insert(key.end(), tokens.begin(t), tokens.end(t));
    if (marks_end && tokens.marks[t] == 1) key.push_back(kFinalMark);
    if (!bytes_only() && find_invalid_utf8(tokens.begin(t), tokens.end(t)))
      throw std::invalid_argument("a token that is not valid UTF-8");
    pieces.add(key.data(), key.size(), t, tokens.scores[t]);
    if (matching.marks_start && !starts) {
      // WordPiece looks a word up as it is: a word that starts with `##` may start with such a token.
      key.insert(key.begin(), {kStartMark, '#', '#'});
      pieces.add(key.data(), key.size(), t, tokens.scores[t]);
    }
  }
}

void EncodeTables::add_whole_words(const TokenView& tokens) {
  if (!bytes_only()) throw std::invalid_argument("only byte-level words are looked up as a whole");
  for (uint32_t t = 0; t < tokens.visible; ++t)
    if (tokens.kind(t) >= TokenKind::merged)
      pieces.add(tokens.begin(t), tokens.bytes(t), t, 0);
}

void EncodeTables::make_square(const TokenView& tokens) {
  const auto is_character = [&](uint32_t t) {
    return tokens.kind(t) == TokenKind::character;
  };
  uint32_t begin = 0, end = 0;
  while (begin < tokens.size && !is_character(begin)) ++begin;
  for (end = begin; end < tokens.size && is_character(end);) ++end;
  if (end - begin > kMostInSquare) return;
  first_character = begin;
  square_side = end - begin;
  for (uint32_t a = begin; a < end; ++a)
    for (uint32_t b = begin; b < end; ++b) square.push_back(pairs.find(a, b));
}

}  // namespace volt
