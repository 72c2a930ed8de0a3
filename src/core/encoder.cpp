// The tables of an encoder, made from a vocabulary that may contradict itself.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <numeric>
#include <stdexcept>

#include "encode_worker.hpp"  // an encoder owns some
#include "hash.hpp"
#include "scan.hpp"
#include "unicode.hpp"

namespace volt {
namespace {

constexpr uint32_t kMostInSquare = 512;      // characters
constexpr size_t kMostPairs = size_t{1} << 26;

// The texts of the tokens that merge, marks included, forwards or backwards.
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

// For every key the longest other one that it starts with, or kNoToken. In sorted order the prefixes
// of a key are those of the keys before it that are still on the stack.
std::vector<uint32_t> longest_prefixes(const Keys& keys) {
  std::vector<uint32_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
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

}  // namespace

// ------------------------------------------------------------------------------------------- tables

IdBuffer::~IdBuffer() { std::free(ids_); }

void IdBuffer::grow(size_t more) {
  if (more > SIZE_MAX / 8 - size_) throw std::bad_alloc();
  // realloc moves pages instead of bytes. Huge pages for them made encoding 15% slower.
  const size_t capacity = std::max(size_ + more, std::max<size_t>(256, capacity_ + capacity_ / 2));
  auto* ids = static_cast<uint32_t*>(std::realloc(ids_, capacity * sizeof(uint32_t)));
  if (ids == nullptr) throw std::bad_alloc();
  ids_ = ids;
  capacity_ = capacity;
}

uint32_t* IdBuffer::release() {
  size_ = capacity_ = 0;
  return std::exchange(ids_, nullptr);
}

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

void NameTable::add(const uint8_t* name, size_t bytes, uint32_t token, bool always) {
  uint32_t node = 0;
  for (size_t i = 0; i < bytes; ++i) {
    uint32_t to = next_.find(node, name[i]);
    if (to == kNoToken) {
      to = static_cast<uint32_t>(name_at_.size());
      if (to == kNoToken) throw std::length_error("too many special tokens and symbols");
      name_at_.push_back(kNoToken);
      next_.set(node, name[i], to);
    }
    node = to;
  }
  if (name_at_[node] != kNoToken) throw std::invalid_argument("two tokens have the same name");
  name_at_[node] = static_cast<uint32_t>(names_.size());
  names_.push_back({token, bytes, *name, always});
}

NameTable::Active NameTable::active(const uint8_t* allowed) const {
  Active active;
  active.allowed = allowed;
  for (const Name& name : names_)
    if (name.always || (allowed && allowed[name.token])) {
      active.longest = std::max(active.longest, name.bytes);
      active.starts[name.first] = true;
    }
  return active;
}

NameTable::Match NameTable::find(const uint8_t* p, const uint8_t* limit, const uint8_t* end,
                                 const Active& active) const {
  for (; p < limit; ++p) {
    if (!active.starts[*p]) continue;
    Match longest{p, p, kNoToken};
    uint32_t node = 0;
    for (const uint8_t* q = p; q < end; ++q) {
      node = next_.find(node, *q);
      if (node == kNoToken) break;
      if (name_at_[node] == kNoToken) continue;
      const Name& name = names_[name_at_[node]];
      if (name.always || (active.allowed && active.allowed[name.token])) longest = {p, q + 1, name.token};
    }
    if (longest.token != kNoToken) return longest;
  }
  return {limit, limit, kNoToken};
}

// ------------------------------------------------------------------------------------------ Encoder

Encoder::Encoder(Pretokenizer pretokenizer, MergeRule rule, const Matching& matching,
                 const TokenView& tokens)
    : pretokenizer_(pretokenizer),
      matching_(matching),
      marks_end_(pretokenizer == Pretokenizer::whitespace && !matching.marks_start),
      visible_(tokens.visible),
      unknown_(tokens.unknown),
      fuse_unknown_(tokens.fuse_unknown && tokens.unknown != kNoToken),
      tracks_merges_(tokens.size > tokens.visible && rule == MergeRule::concat) {
  if (tokens.size >= kNoToken || tokens.visible > tokens.size)
    throw std::invalid_argument("too many tokens");
  // In bytes a mark would be a character of its own, and a word have more ids than bytes.
  if (matching.marks_start && pretokenizer != Pretokenizer::whitespace)
    throw std::invalid_argument("a mark of inner tokens is for whitespace text");
  add_characters(tokens);
  if (matching_.encoding == Encoding::merge) {
    check_merges(tokens);
    add_pairs(tokens, rule);
    make_square(tokens);
    if (matching_.whole_words) add_whole_words(tokens);
  } else {
    add_pieces(tokens);
  }
  remembers_ = matching_.encoding != Encoding::unigram || (pieces_.exact() && !matching_.single) ||
               (matching_.anew && pretokenizer_ != Pretokenizer::metaspace);
  const bool spells = is_byte_level(pretokenizer_) || !byte_tokens_.empty();
  if (!spells && unknown_ >= visible_)
    throw std::invalid_argument("no token for unknown characters");
}

void Encoder::add_characters(const TokenView& tokens) {
  size_t bytes_known = 0, characters_known = 0;
  std::vector<uint32_t> byte_tokens(256, kNoToken);
  for (uint32_t t = 0; t < tokens.size; ++t) {
    const uint8_t* text = tokens.text + tokens.offsets[t];
    const size_t bytes = tokens.offsets[t + 1] - tokens.offsets[t];
    const auto kind = static_cast<TokenKind>(tokens.kinds[t]);
    const bool merges = matching_.encoding == Encoding::merge;
    if (kind > TokenKind::piece || (kind == TokenKind::merged && !merges) ||
        (kind == TokenKind::piece && merges && !matching_.whole_words))
      throw std::invalid_argument("a kind of token that this encoding does not have");
    if (kind != TokenKind::merged && t >= tokens.visible)
      throw std::invalid_argument("a hidden token that is not merged from others");
    if (bytes == 0) throw std::invalid_argument("a token without text");
    if (kind == TokenKind::byte) {
      if (bytes != 1 || byte_tokens[*text] != kNoToken)
        throw std::invalid_argument("a byte token that is not one byte, or is there twice");
      byte_tokens[*text] = t;
      ++bytes_known;
    }
    if (kind <= TokenKind::symbol) names_.add(text, bytes, t, kind == TokenKind::symbol);
    if (kind != TokenKind::character) continue;
    ++characters_known;
    uint32_t code_point = *text;
    if (is_byte_level(pretokenizer_)) {
      if (bytes != 1) throw std::invalid_argument("a byte character of several bytes");
    } else {
      if (find_invalid_utf8(text, text + bytes) || sequence_length(*text) != bytes)
        throw std::invalid_argument("a character token that is not one character");
      code_point = decode(text).code_point;
    }
    if (matching_.encoding != Encoding::merge) continue;
    CharacterTable& table = tokens.marks[t] ? final_characters_ : characters_;
    if (!table.set(code_point, t)) throw std::invalid_argument("a character is there twice");
  }
  if (is_byte_level(pretokenizer_) && characters_known != 256)
    throw std::invalid_argument("byte-level needs all 256 bytes");
  if (bytes_known != 0 && bytes_known != 256)
    throw std::invalid_argument("some byte tokens are missing");
  if (bytes_known) byte_tokens_ = std::move(byte_tokens);
}

// A merged token is its parents joined, and comes after them.
void Encoder::check_merges(const TokenView& tokens) const {
  for (uint32_t t = 0; t < tokens.size; ++t) {
    if (static_cast<TokenKind>(tokens.kinds[t]) != TokenKind::merged) continue;
    const uint32_t left = tokens.left[t], right = tokens.right[t];
    for (const uint32_t parent : {left, right}) {
      if (parent >= tokens.size) throw std::invalid_argument("a parent that does not exist");
      const auto kind = static_cast<TokenKind>(tokens.kinds[parent]);
      if (kind != TokenKind::character &&
          (kind != TokenKind::merged || tokens.ranks[parent] >= tokens.ranks[t]))
        throw std::invalid_argument("a parent that does not come before its child");
    }
    auto bytes = [&](uint32_t token) { return tokens.offsets[token + 1] - tokens.offsets[token]; };
    const uint8_t* text = tokens.text + tokens.offsets[t];
    if (bytes(t) != bytes(left) + bytes(right) || tokens.marks[left] ||
        tokens.marks[t] != tokens.marks[right] ||
        std::memcmp(text, tokens.text + tokens.offsets[left], bytes(left)) != 0 ||
        std::memcmp(text + bytes(left), tokens.text + tokens.offsets[right], bytes(right)) != 0)
      throw std::invalid_argument("a merged token that is not its parents joined");
  }
}

void Encoder::add_pairs(const TokenView& tokens, MergeRule rule) {
  for (uint32_t t = 0; t < tokens.size; ++t)
    if (static_cast<TokenKind>(tokens.kinds[t]) == TokenKind::merged) made_.push_back(t);
  std::stable_sort(made_.begin(), made_.end(),
                   [&](uint32_t a, uint32_t b) { return tokens.ranks[a] < tokens.ranks[b]; });
  left_.assign(tokens.left, tokens.left + tokens.size);
  right_.assign(tokens.right, tokens.right + tokens.size);
  if (rule == MergeRule::pairs) {
    pairs_.reserve(made_.size());
    for (uint32_t rank = 0; rank < made_.size(); ++rank)
      pairs_.set(left_[made_[rank]], right_[made_[rank]], rank);
    return;
  }

  // Every way to cut a token into two others: a prefix and a suffix of it that fill it.
  Keys forward, backward;
  std::vector<uint32_t> token_of, key_of(tokens.size, kNoToken);
  for (uint32_t t = 0; t < tokens.size; ++t) {
    const auto kind = static_cast<TokenKind>(tokens.kinds[t]);
    if (kind != TokenKind::character && kind != TokenKind::merged) continue;
    const uint8_t *begin = tokens.text + tokens.offsets[t], *end = tokens.text + tokens.offsets[t + 1];
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
  for (uint32_t rank = 0; rank < made_.size(); ++rank) {
    const uint32_t key = key_of[made_[rank]];
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
  pairs_.reserve(found.size());
  for (const Pair& pair : found) pairs_.set(pair.left, pair.right, pair.rank);
}

void Encoder::add_pieces(const TokenView& tokens) {
  std::vector<uint8_t> key;
  for (uint32_t t = 0; t < tokens.visible; ++t) {
    const auto kind = static_cast<TokenKind>(tokens.kinds[t]);
    if (kind != TokenKind::character && kind != TokenKind::piece) continue;
    const bool starts = matching_.marks_start && tokens.marks[t] == 2;
    key.clear();
    if (starts) key.push_back(kStartMark);
    key.insert(key.end(), tokens.text + tokens.offsets[t], tokens.text + tokens.offsets[t + 1]);
    if (marks_end_ && tokens.marks[t] == 1) key.push_back(kFinalMark);
    if (!bytes_only() && find_invalid_utf8(tokens.text + tokens.offsets[t], tokens.text + tokens.offsets[t + 1]))
      throw std::invalid_argument("a token that is not valid UTF-8");
    pieces_.add(key.data(), key.size(), t, tokens.scores[t]);
    if (matching_.marks_start && !starts) {
      // WordPiece looks a word up as it is: one that starts with `##` may start with such a token.
      key.insert(key.begin(), {kStartMark, '#', '#'});
      pieces_.add(key.data(), key.size(), t, tokens.scores[t]);
    }
  }
}

void Encoder::add_whole_words(const TokenView& tokens) {
  if (!bytes_only()) throw std::invalid_argument("only byte-level words are looked up as a whole");
  for (uint32_t t = 0; t < tokens.visible; ++t)
    if (static_cast<TokenKind>(tokens.kinds[t]) >= TokenKind::merged)
      pieces_.add(tokens.text + tokens.offsets[t], tokens.offsets[t + 1] - tokens.offsets[t], t, 0);
}

void Encoder::make_square(const TokenView& tokens) {
  const auto is_character = [&](uint32_t t) {
    return static_cast<TokenKind>(tokens.kinds[t]) == TokenKind::character;
  };
  uint32_t begin = 0, end = 0;
  while (begin < tokens.size && !is_character(begin)) ++begin;
  for (end = begin; end < tokens.size && is_character(end);) ++end;
  if (end - begin > kMostInSquare) return;
  first_character_ = begin;
  square_side_ = end - begin;
  for (uint32_t a = begin; a < end; ++a)
    for (uint32_t b = begin; b < end; ++b) square_.push_back(pairs_.find(a, b));
}

}  // namespace volt
