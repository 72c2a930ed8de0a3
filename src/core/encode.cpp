#include "encode.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iterator>
#include <new>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "boundaries.hpp"
#include "hash.hpp"
#include "huge.hpp"
#include "parallel.hpp"
#include "scan.hpp"
#include "unicode.hpp"
#include "word_cache.hpp"

namespace volt {
namespace {

constexpr size_t kFew = 32;                  // up to this many symbols a scan beats a heap
constexpr uint32_t kMostInSquare = 512;      // characters
constexpr size_t kMostPairs = size_t{1} << 26;
constexpr uint32_t kWhole = 0xFFFFFFFF;      // the longest word of a scanner: none is cut
constexpr size_t kChunk = 64 * 1024;         // a thread takes about this much text at a time
constexpr uint8_t kMarkText[] = {0xE2, 0x96, 0x81};  // U+2581

// kLowBytes[8 + n] keeps the first n bytes of a little-endian integer, all for n >= 8, none for n <= 0.
constexpr std::array<uint64_t, 24> kLowBytes = [] {
  std::array<uint64_t, 24> masks{};
  for (size_t n = 1; n < 16; ++n) masks[8 + n] = n < 8 ? (uint64_t{1} << (8 * n)) - 1 : ~uint64_t{0};
  return masks;
}();

// One past the next line end in [p, end), or end.
const uint8_t* next_line_end(const uint8_t* p, const uint8_t* end) {
  const void* found = p < end ? std::memchr(p, '\n', end - p) : nullptr;
  return found ? static_cast<const uint8_t*>(found) + 1 : end;
}

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

Encoder::~Encoder() = default;

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

// ------------------------------------------------------------------------------------- EncodeWorker

// Draws of one word (splitmix64).
class Coin {
 public:
  Coin(const Dropout& dropout, uint64_t line, uint64_t word) : probability_(dropout.probability) {
    state_ = step(step(step(dropout.seed) ^ line) ^ word);
  }
  bool skips() {
    state_ += kGolden;
    return static_cast<double>(step(state_ - kGolden) >> 11) * 0x1p-53 < probability_;
  }

 private:
  static constexpr uint64_t kGolden = 0x9E3779B97F4A7C15ull;
  static uint64_t step(uint64_t x) {
    x += kGolden;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ x >> 27) * 0x94D049BB133111EBull;
    return x ^ x >> 31;
  }
  double probability_;
  uint64_t state_;
};

// Encodes words for one thread at a time, and remembers what common words became.
class EncodeWorker {
 public:
  explicit EncodeWorker(const Encoder& encoder)
      : encoder_(encoder), matcher_(encoder.pieces_, encoder.matching_, encoder.bytes_only()) {}

  // Where the ids of the next words go, and in `ends` how many there are when a text ends.
  void start(const NameTable::Active& active, const Dropout& dropout, IdBuffer& ids,
             std::vector<uint64_t>& ends) {
    active_ = &active;
    dropout_ = dropout;
    ids_ = &ids;
    ends_ = &ends;
    pending_size_ = pending_bytes_ = 0;
    text_begin_ = ids.size();
  }

  // Encode the text, or what is sure of it if it is not complete; returns how far that is. Names in
  // the text are tokens; what is between two of them is cut into words by itself. Memory may be read
  // up to `readable`; it must stay until `flush`.
  const uint8_t* encode_text(const uint8_t* p, const uint8_t* end, const uint8_t* readable, bool complete,
                             TextState& state) {
    state_ = &state;
    readable_ = readable;
    const NameTable::Active& active = *active_;
    if (active.longest == 0) return scan(p, end, complete);
    const uint8_t* limit = end;
    if (!complete) {
      limit -= std::min<ptrdiff_t>(end - p, active.longest);
      while (limit > p && is_continuation(*limit)) --limit;
    }
    while (p < limit) {
      const NameTable::Match match = encoder_.names_.find(p, limit, end, active);
      if (match.token == kNoToken) return scan(p, limit, complete);
      scan(p, match.begin, true);
      flush();
      uint32_t* out = ids_->room(1);
      *out = match.token;
      ids_->advance(out + 1);
      text_begin_ = ids_->size();
      add_symbol_score(match.end - match.begin);
      state.line.at_start = false;  // the space understood before a text is not before a name
      p = match.end;
    }
    return p;
  }

  // Encode whole lines; the last may lack its line end.
  void encode_lines(const uint8_t* p, const uint8_t* end, const uint8_t* readable, TextState& state) {
    state_ = &state;
    readable_ = readable;
    if (active_->longest == 0 && mark_words(encoder_.pretokenizer_, p, end, true, marks_, at_spaces()))
      return take_marked_words(p, end, true);
    while (p < end) {
      const uint8_t* next = next_line_end(p, end);
      const bool ended = next[-1] == '\n';
      encode_text(p, next - ended, readable, true, state);
      if (ended) end_line();
      p = next;
    }
  }

  // Note where the ids of the text end.
  void end_text() {
    pending_[pending_size_].kind = Pending::text_end;
    if (++pending_size_ == kBatch) flush();
  }

  // Encode one word, with a space before it if `prefix`. There is room at `out` for an id for every
  // byte and the space. Returns one past the last id.
  uint32_t* encode_word(bool prefix, const uint8_t* word, size_t bytes, uint32_t* out,
                        Coin* coin = nullptr) {
    if (encoder_.matching_.encoding != Encoding::merge) return match(prefix, word, bytes, out);
    if (encoder_.matching_.whole_words && coin == nullptr) {
      if (const uint32_t token = encoder_.pieces_.find(word, bytes); token != kNoToken) {
        *out = token;
        return out + 1;
      }
    }
    if (bytes + prefix > symbols_.size()) symbols_.resize(std::max<size_t>(2 * bytes, 64));
    const size_t size = spell(prefix, word, bytes);
    if (encoder_.tracks_merges_) return merge<true>(size, out, coin);
    return merge<false>(size, out, coin);
  }

  // The same for a word that belongs to no text.
  uint32_t* encode_single_word(bool prefix, const uint8_t* word, size_t bytes, uint32_t* out) {
    state_ = nullptr;
    ids_ = nullptr;
    uint32_t* after = encode_word(prefix, word, bytes, out);
    return encoder_.fuse_unknown_ ? fuse(out, after) : after;
  }

  // Encode the words that wait.
  void flush() {
    // A word of n bytes has at most n ids; copies of remembered ones may write some too many.
    uint32_t* out = ids_->room(pending_bytes_ + ShortWords::kMostIds);
    for (size_t i = 0; i < pending_size_; ++i) {
      const Pending& word = pending_[i];
      uint32_t* const begin = out;
      switch (word.kind) {
        case Pending::short_word:
          if (const auto* slot = short_words_.find(word.key, word.hash)) [[likely]] {
            std::memcpy(out, slot->ids, 4 * sizeof(uint32_t));
            if (slot->size > 4) [[unlikely]]
              std::memcpy(out + 4, slot->ids + 4, sizeof slot->ids - 4 * sizeof(uint32_t));
            out += slot->size;
          } else {
            uint32_t* after = encode_key(word, out);
            short_words_.add(word.key, word.hash, out, after);
            out = after;
          }
          break;
        case Pending::middle_word:
          if (const auto* slot = middle_words_.find(word.key, word.hash)) [[likely]] {
            std::memcpy(out, slot->ids, sizeof slot->ids);
            out += slot->size;
          } else {
            uint32_t* after = encode_key(word, out);
            middle_words_.add(word.key, word.hash, out, after);
            out = after;
          }
          break;
        case Pending::long_word:
          out = encode_word(word.prefix, word.word, word.bytes, out);
          break;
        case Pending::text_end:
          ids_->advance(out);
          ends_->push_back(ids_->size());
          text_begin_ = ids_->size();
      }
      if (encoder_.fuse_unknown_) [[unlikely]] out = fuse(begin, out);
    }
    ids_->advance(out);
    pending_size_ = pending_bytes_ = 0;
  }

  // A word from a scanner.
  void operator()(const uint8_t* begin, const uint8_t* end, bool prefix, bool) {
    add(begin, end, prefix, readable_);
  }
  // U+2581 in the text is no mark, and in no token.
  void reserved() { add(kMarkText, std::end(kMarkText), false, std::end(kMarkText)); }
  void cut() {}

 private:
  static constexpr size_t kBatch = 32;
  using ShortWords = WordCache<2, 11>;
  using MiddleWords = WordCache<4, 7>;

  // A word whose slot has been asked for, but may not be in the processor's cache yet.
  struct Pending {
    enum Kind : uint8_t { short_word, middle_word, long_word, text_end } kind;
    bool prefix;
    size_t bytes;
    uint64_t hash;
    uint64_t key[4];
    const uint8_t* word;
  };
  // Which two tokens were merged, and from what those were.
  struct Join {
    uint32_t left, left_join, right, right_join;
  };
  struct Link {
    uint32_t id, previous, next;
    uint32_t rank;  // of what this and the next symbol make
    uint32_t join;
  };

  void end_line() {
    end_text();
    state_->line = LineState{};
    ++state_->number;
    state_->words = 0;
    state_->score = 0;
  }

  void add(const uint8_t* begin, const uint8_t* end, bool prefix, const uint8_t* readable) {
    const size_t bytes = end - begin;
    const uint64_t number = state_->words++;
    if (dropout_.probability > 0 || !encoder_.remembers_) [[unlikely]] {
      flush();
      Coin coin(dropout_, state_->number, number);
      uint32_t* out = ids_->room(bytes + prefix);
      uint32_t* after = encode_word(prefix, begin, bytes, out, dropout_.probability > 0 ? &coin : nullptr);
      ids_->advance(encoder_.fuse_unknown_ ? fuse(out, after) : after);
      return;
    }
    Pending& word = pending_[pending_size_];
    const size_t size = bytes + prefix;
    pending_bytes_ += size;
    word.bytes = static_cast<uint32_t>(size);
    if (size <= ShortWords::kMostBytes) [[likely]] {
      word.kind = Pending::short_word;
      if (!prefix && readable - begin >= 16) [[likely]] {
        word.key[0] = load(begin) & kLowBytes[bytes + 8];
        word.key[1] = load(begin + 8) & kLowBytes[bytes];
      } else {
        uint8_t copy[16] = {' '};
        std::memcpy(copy + prefix, begin, bytes);
        word.key[0] = load(copy);
        word.key[1] = load(copy + 8);
      }
      word.key[1] |= static_cast<uint64_t>(size) << 56;
      word.hash = ShortWords::hash_of(word.key);
      short_words_.prefetch(word.hash);
    } else if (size <= MiddleWords::kMostBytes) {
      word.kind = Pending::middle_word;
      uint8_t copy[32] = {' '};
      std::memcpy(copy + prefix, begin, bytes);
      copy[31] = static_cast<uint8_t>(size);
      std::memcpy(word.key, copy, sizeof copy);
      word.hash = MiddleWords::hash_of(word.key);
      middle_words_.prefetch(word.hash);
    } else {
      word.kind = Pending::long_word;
      word.prefix = prefix;
      word.word = begin;
      word.bytes = bytes;
    }
    if (++pending_size_ == kBatch) flush();
  }

  const uint8_t* scan(const uint8_t* p, const uint8_t* end, bool complete) {
    if (complete && mark_words(encoder_.pretokenizer_, p, end, false, marks_, at_spaces())) {
      take_marked_words(p, end, false);
      return end;
    }
    switch (encoder_.pretokenizer_) {
      case Pretokenizer::whitespace: return scan_whitespace(p, end, state_->line, complete, kWhole, *this);
      case Pretokenizer::metaspace:
        return at_spaces() ? scan_spaced<space_kind>(p, end, state_->line, complete, kWhole, *this)
                           : scan_metaspace(p, end, state_->line, complete, kWhole, *this);
      default: return scan_bytes(encoder_.pretokenizer_, p, end, state_->line, complete, kWhole, *this);
    }
  }

  void take_marked_words(const uint8_t* p, const uint8_t* end, bool lines) {
    switch (encoder_.pretokenizer_) {
      case Pretokenizer::whitespace: return take_words<Pretokenizer::whitespace>(p, end, lines);
      case Pretokenizer::metaspace: return take_words<Pretokenizer::metaspace>(p, end, lines);
      case Pretokenizer::byte_level: return take_words<Pretokenizer::byte_level>(p, end, lines);
      default: return take_words<Pretokenizer::llama3>(p, end, lines);  // all alike
    }
  }

  // The words of a text whose bounds are marked.
  template <Pretokenizer pretokenizer>
  void take_words(const uint8_t* text, const uint8_t* end, bool lines) {
    const uint8_t* word = nullptr;  // where the word that we are in starts
    bool prefix = false;            // and whether a space is understood before it
    for (size_t block = 0; block < marks_.size(); ++block) {
      for (uint64_t left = marks_[block]; left; left &= left - 1) {
        const uint8_t* p = text + 64 * block + __builtin_ctzll(left);
        if (word != nullptr) {
          if (p < word) continue;  // inside what the pattern took with an apostrophe
          if (p > word) add(word, p, prefix, readable_);
          prefix = false;
        }
        word = p;
        if (lines && *p == '\n') {
          end_line();
          word = nullptr;
          continue;
        }
        if constexpr (pretokenizer == Pretokenizer::whitespace) {
          if (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n') word = nullptr;
        } else if constexpr (pretokenizer == Pretokenizer::metaspace) {
          if (state_->line.at_start) [[unlikely]] {
            state_->line.at_start = false;
            // The space before the text is a word by itself before another, or before U+2581.
            prefix = *p != ' ' && (end - p < 3 || std::memcmp(p, kMarkText, 3) != 0);
            if (!prefix) add(p, p, true, readable_);
          }
        } else if (*p == '\'') [[unlikely]] {
          const bool any_case = pretokenizer != Pretokenizer::byte_level;
          if (const ptrdiff_t suffix = any_case ? any_case_contraction(p, end) : contraction(p, end)) {
            add(p, p + suffix, false, readable_);
            word = p + suffix;
          }
        }
      }
    }
    if (word != nullptr && word < end) add(word, end, prefix, readable_);
  }

  uint32_t* encode_key(const Pending& word, uint32_t* out) {
    uint8_t copy[32];
    std::memcpy(copy, word.key, sizeof copy);
    return encode_word(false, copy, word.bytes, out);
  }

  // The symbols of a word, and how many.
  size_t spell(bool prefix, const uint8_t* p, size_t bytes) {
    uint32_t* out = symbols_.data();
    if (is_byte_level(encoder_.pretokenizer_)) {
      for (size_t i = 0; i < bytes; ++i) out[i] = encoder_.characters_.find(p[i]);
      return bytes;
    }
    static constexpr uint8_t kSpaceText[] = {' '};
    if (prefix) out = spell_character(encoder_.characters_, kSpaceText, 1, ' ', out);
    const uint8_t* end = p + bytes;
    const bool marks_last = encoder_.marks_end_;
    while (p < end) {
      const Decoded d = decode(p);
      const bool last = marks_last && p + d.bytes == end;
      out = spell_character(last ? encoder_.final_characters_ : encoder_.characters_, p, d.bytes,
                            d.code_point, out);
      p += d.bytes;
    }
    return static_cast<size_t>(out - symbols_.data());
  }

  // A character that is not in the vocabulary becomes tokens that merge with nothing.
  uint32_t* spell_character(const CharacterTable& table, const uint8_t* p, size_t bytes,
                            uint32_t code_point, uint32_t* out) {
    const uint32_t token = table.find(code_point);
    if (token != kNoToken) [[likely]] {
      *out++ = token;
    } else if (!encoder_.byte_tokens_.empty()) {
      for (size_t i = 0; i < bytes; ++i) *out++ = encoder_.byte_tokens_[p[i]];
    } else {
      *out++ = encoder_.unknown_;
    }
    return out;
  }

  // A token found in a word may span letters and digits, say, so words are cut at spaces only: as the
  // toolkits do whose files have such tokens.
  bool at_spaces() const {
    return encoder_.matching_.at_spaces || encoder_.matching_.encoding != Encoding::merge;
  }

  // Look tokens up in the word. A word that the `longest` ones do not fill is unknown as a whole, if
  // there are no byte tokens.
  uint32_t* match(bool prefix, const uint8_t* word, size_t bytes, uint32_t* out) {
    const Matching& matching = encoder_.matching_;
    if (bytes + prefix == 0) return out;
    key_.clear();
    if (matching.marks_start) key_.push_back(kStartMark);
    if (prefix) key_.push_back(' ');
    key_.insert(key_.end(), word, word + bytes);
    if (encoder_.marks_end_) key_.push_back(kFinalMark);
    const bool spells = !encoder_.byte_tokens_.empty();
    if (matching.encoding == Encoding::longest && matching.most_characters != 0 &&
        (encoder_.bytes_only() ? bytes : count_characters(word, word + bytes) + prefix) >
            matching.most_characters) {
      *out = encoder_.unknown_;
      return out + 1;
    }
    double none = 0;
    double& score = state_ == nullptr || encoder_.remembers_ ? none : state_->score;
    if (matching.anew && key_[0] == ' ') score = 0;
    uint32_t* const begin = out;
    for (const Matcher::Piece& piece : matcher_.cut(key_.data(), key_.size(), score)) {
      if (piece.token != kNoToken) [[likely]] {
        *out++ = piece.token;
      } else if (spells) {
        for (size_t i = piece.begin; i < piece.end; ++i)
          if (key_[i] < kStartMark) *out++ = encoder_.byte_tokens_[key_[i]];
      } else if (matching.encoding == Encoding::longest) {
        *begin = encoder_.unknown_;
        return begin + 1;
      } else {
        *out++ = encoder_.unknown_;
      }
    }
    return out;
  }

  // A symbol takes part in the sum of scores as in SentencePiece.
  void add_symbol_score(size_t bytes) {
    if (encoder_.remembers_) return;
    const Matching& matching = encoder_.matching_;
    const auto add = [&]<class Real>(Real score) {
      score = static_cast<Real>(bytes) * static_cast<Real>(matching.symbol_score) - static_cast<Real>(0.1) + score;
      state_->score = score;
    };
    if (matching.anew) state_->score = 0;
    else if (matching.single) add(static_cast<float>(state_->score));
    else add(state_->score);
  }

  // One unknown token for a run of them. In whitespace mode a run ends with the word.
  uint32_t* fuse(uint32_t* begin, uint32_t* end) {
    const bool in_word = encoder_.pretokenizer_ == Pretokenizer::whitespace;
    const uint32_t* first = in_word || ids_ == nullptr ? begin : ids_->data() + text_begin_;
    uint32_t* out = begin;
    for (const uint32_t* p = begin; p < end; ++p)
      if (*p != encoder_.unknown_ || out == first || out[-1] != encoder_.unknown_) *out++ = *p;
    return out;
  }

  template <bool track>
  uint32_t* merge(size_t size, uint32_t* out, Coin* coin) {
    joins_.clear();
    return size <= kFew && coin == nullptr ? merge_few<track>(size, out) : merge_many<track>(size, out, coin);
  }

  // The best pair is looked for anew before every merge; what the pairs make is remembered.
  template <bool track>
  uint32_t* merge_few(size_t size, uint32_t* out) {
    uint32_t* ids = symbols_.data();
    uint32_t ranks[kFew], joins[kFew];
    if (track) std::fill_n(joins, size, kNoToken);
    for (size_t i = 0; i + 1 < size; ++i) ranks[i] = encoder_.find_first(ids[i], ids[i + 1]);
    for (;;) {
      uint64_t best = ~uint64_t{0};  // rank and place: the leftmost on a tie
      for (size_t i = 0; i + 1 < size; ++i) best = std::min(best, uint64_t{ranks[i]} << 32 | i);
      const auto lowest = static_cast<uint32_t>(best >> 32), at = static_cast<uint32_t>(best);
      if (lowest == kNoToken) break;
      if (track) joins[at] = join(ids[at], joins[at], ids[at + 1], joins[at + 1]);
      ids[at] = encoder_.made_[lowest];
      --size;
      for (size_t i = at + 1; i < size; ++i) {
        ids[i] = ids[i + 1];
        ranks[i - 1] = ranks[i];
        if (track) joins[i] = joins[i + 1];
      }
      if (at > 0) ranks[at - 1] = encoder_.pairs_.find(ids[at - 1], ids[at]);
      if (at + 1 < size) ranks[at] = encoder_.pairs_.find(ids[at], ids[at + 1]);
    }
    for (size_t i = 0; i < size; ++i) out = emit(ids[i], track ? joins[i] : kNoToken, out);
    return out;
  }

  // A list of symbols and a heap of pairs (rank, position): near-linear for words of any length. An
  // entry is out of date if the pair at its position makes something else by now. Merges that the
  // coin skips come back after the next one that is made.
  template <bool track>
  uint32_t* merge_many(size_t size, uint32_t* out, Coin* coin) {
    if (size >= kNoToken) throw std::length_error("a word of more than 4,294,967,294 characters");
    links_.resize(size);
    heap_.clear();
    skipped_.clear();
    for (uint32_t i = 0; i < size; ++i) {
      links_[i] = {symbols_[i], i - 1, i + 1 < size ? i + 1 : kNoToken, kNoToken, kNoToken};
      if (i > 0) rank_pair(i - 1, i);
    }
    std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
    while (!heap_.empty()) {
      const uint64_t top = heap_.front();
      std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
      heap_.pop_back();
      const auto rank = static_cast<uint32_t>(top >> 32), at = static_cast<uint32_t>(top);
      Link& link = links_[at];
      if (link.rank != rank) continue;
      if (coin != nullptr && coin->skips()) {
        skipped_.push_back(top);
        continue;
      }
      Link& gone = links_[link.next];
      if (track) link.join = join(link.id, link.join, gone.id, gone.join);
      link.id = encoder_.made_[rank];
      link.next = gone.next;
      gone.rank = link.rank = kNoToken;
      if (at > 0) push_pair(link.previous, at);
      if (link.next != kNoToken) {
        links_[link.next].previous = at;
        push_pair(at, link.next);
      }
      for (const uint64_t entry : skipped_) push(entry);
      skipped_.clear();
    }
    for (uint32_t i = 0; i < size; i = links_[i].next) out = emit(links_[i].id, links_[i].join, out);
    return out;
  }

  bool rank_pair(uint32_t at, uint32_t next) {
    links_[at].rank = encoder_.pairs_.find(links_[at].id, links_[next].id);
    if (links_[at].rank == kNoToken) return false;
    heap_.push_back(static_cast<uint64_t>(links_[at].rank) << 32 | at);
    return true;
  }
  void push_pair(uint32_t at, uint32_t next) {
    if (rank_pair(at, next)) std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  }
  void push(uint64_t entry) {
    heap_.push_back(entry);
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  }

  uint32_t join(uint32_t left, uint32_t left_join, uint32_t right, uint32_t right_join) {
    joins_.push_back({left, left_join, right, right_join});
    return static_cast<uint32_t>(joins_.size() - 1);
  }

  // Hidden tokens are broken into what they were merged from, until none is hidden.
  uint32_t* emit(uint32_t id, uint32_t from, uint32_t* out) {
    if (id < encoder_.visible_) [[likely]] {
      *out++ = id;
      return out;
    }
    stack_.assign(1, {id, from});
    while (!stack_.empty()) {
      const auto [token, made] = stack_.back();
      stack_.pop_back();
      if (token < encoder_.visible_) {
        *out++ = token;
      } else if (made != kNoToken) {
        const Join& j = joins_[made];
        stack_.push_back({j.right, j.right_join});
        stack_.push_back({j.left, j.left_join});
      } else {
        stack_.push_back({encoder_.right_[token], kNoToken});
        stack_.push_back({encoder_.left_[token], kNoToken});
      }
    }
    return out;
  }

  const Encoder& encoder_;
  const NameTable::Active* active_ = nullptr;
  Dropout dropout_;
  IdBuffer* ids_ = nullptr;
  std::vector<uint64_t>* ends_ = nullptr;
  const uint8_t* readable_ = nullptr;
  TextState* state_ = nullptr;
  size_t text_begin_ = 0;  // of the ids, where the text or the last name in it began

  Matcher matcher_;
  std::vector<uint8_t> key_;
  ShortWords short_words_;
  MiddleWords middle_words_;
  std::vector<uint64_t> marks_;
  Pending pending_[kBatch];
  size_t pending_size_ = 0, pending_bytes_ = 0;

  std::vector<uint32_t> symbols_;
  std::vector<Link> links_;
  std::vector<uint64_t> heap_, skipped_;
  std::vector<Join> joins_;
  std::vector<std::pair<uint32_t, uint32_t>> stack_;
};

// ----------------------------------------------------------------------------------------- encoding

// A worker for as long as this lives. The one used last comes first: it remembers most.
struct Encoder::Borrowed {
  const Encoder& encoder;
  std::unique_ptr<EncodeWorker> worker;

  explicit Borrowed(const Encoder& from) : encoder(from) {
    std::lock_guard lock(encoder.mutex_);
    if (encoder.idle_.empty()) {
      worker = std::make_unique<EncodeWorker>(encoder);
      encoder.idle_.reserve(++encoder.workers_);  // so that giving back can't fail
    } else {
      worker = std::move(encoder.idle_.back());
      encoder.idle_.pop_back();
    }
  }
  ~Borrowed() {
    std::lock_guard lock(encoder.mutex_);
    encoder.idle_.push_back(std::move(worker));
  }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
};

namespace {

// Do tasks until all are taken; several threads share `next`, so that none waits for a slower one.
template <class Work>
void take_tasks(std::atomic<size_t>& next, size_t tasks, Work&& work) {
  for (size_t task; (task = next.fetch_add(1)) < tasks;) work(task);
}

// `end` less a character at its end whose last bytes are still to come.
const uint8_t* whole_characters(const uint8_t* p, const uint8_t* end) {
  for (int i = 1; i <= 3 && end - p >= i; ++i) {
    const uint8_t byte = end[-i];
    if (is_continuation(byte)) continue;
    return byte >= 0xC0 && sequence_length(byte) > static_cast<uint32_t>(i) ? end - i : end;
  }
  return end;
}

}  // namespace

void Encoder::encode(const TextView* texts, size_t size, uint64_t number, const EncodeOptions& options,
                     unsigned threads, IdBuffer& ids, std::vector<uint64_t>& ends) const {
  const NameTable::Active active = names_.active(options.allowed);
  auto encode_range = [&](EncodeWorker& worker, size_t first, size_t last, IdBuffer& to,
                          std::vector<uint64_t>& to_ends) {
    worker.start(active, options.dropout, to, to_ends);
    for (size_t t = first; t < last; ++t) {
      const uint8_t* end = texts[t].text + texts[t].bytes;
      TextState state;
      state.number = number + t;
      worker.encode_text(texts[t].text, end, end, true, state);
      worker.end_text();
    }
    worker.flush();
  };
  if (size <= 1 || threads <= 1) {
    Borrowed borrowed(*this);
    return encode_range(*borrowed.worker, 0, size, ids, ends);
  }

  // 1. Cut the list into parts of about kChunk bytes. 2. Encode them. 3. One behind the other.
  std::vector<size_t> bounds{0};
  for (size_t t = 0, bytes = 0; t < size; ++t) {
    bytes += texts[t].bytes + 16;
    if (bytes >= kChunk || t + 1 == size) {
      bounds.push_back(t + 1);
      bytes = 0;
    }
  }
  const size_t parts = bounds.size() - 1;
  std::vector<IdBuffer> part_ids(parts);
  std::vector<std::vector<uint64_t>> part_ends(parts);
  std::atomic<size_t> next{0};
  run_parallel(static_cast<unsigned>(std::min<size_t>(threads, parts)), [&](unsigned) {
    Borrowed borrowed(*this);
    take_tasks(next, parts, [&](size_t part) {
      encode_range(*borrowed.worker, bounds[part], bounds[part + 1], part_ids[part], part_ends[part]);
    });
  });
  for (size_t part = 0; part < parts; ++part) {
    const size_t before = ids.size();
    uint32_t* out = ids.room(part_ids[part].size());
    ids.advance(std::copy_n(part_ids[part].data(), part_ids[part].size(), out));
    for (const uint64_t end : part_ends[part]) ends.push_back(before + end);
  }
}

void Encoder::encode_words(const uint8_t* text, const uint64_t* offsets, size_t words, unsigned threads,
                           std::vector<uint32_t>& ids, std::vector<uint64_t>& id_offsets) const {
  // 1. Each thread encodes a part of the words, parts of about as many bytes.
  threads = static_cast<unsigned>(std::clamp<size_t>(words / 1024, 1, std::max(1u, threads)));
  std::vector<size_t> bounds{0};
  for (unsigned i = 1; i < threads; ++i)
    bounds.push_back(std::lower_bound(offsets + bounds.back(), offsets + words,
                                      offsets[words] / threads * i) - offsets);
  bounds.push_back(words);
  id_offsets.resize(words + 1);
  std::vector<IdBuffer> parts(threads);
  run_parallel(threads, [&](unsigned i) {
    Borrowed borrowed(*this);
    for (size_t w = bounds[i]; w < bounds[i + 1]; ++w) {
      const uint8_t* word = text + offsets[w];
      size_t bytes = offsets[w + 1] - offsets[w];
      // The mark at the start of a word is a space.
      const bool prefix = pretokenizer_ == Pretokenizer::metaspace && bytes >= sizeof kMarkText &&
                          std::memcmp(word, kMarkText, sizeof kMarkText) == 0;
      if (prefix) word += sizeof kMarkText, bytes -= sizeof kMarkText;
      uint32_t* out = parts[i].room(bytes + prefix);
      parts[i].advance(borrowed.worker->encode_single_word(prefix, word, bytes, out));
      id_offsets[w + 1] = parts[i].size();
    }
  });

  // 2. One part behind the other.
  std::vector<size_t> starts{0};
  for (const IdBuffer& part : parts) starts.push_back(starts.back() + part.size());
  ids.resize(starts.back());
  id_offsets[0] = 0;
  run_parallel(threads, [&](unsigned i) {
    std::copy_n(parts[i].data(), parts[i].size(), ids.data() + starts[i]);
    for (size_t w = bounds[i]; w < bounds[i + 1]; ++w) id_offsets[w + 1] += starts[i];
  });
}

// -------------------------------------------------------------------------------------- LineEncoder

LineEncoder::LineEncoder(const Encoder& encoder, std::vector<uint8_t> allowed, Dropout dropout,
                         unsigned threads)
    : encoder_(encoder),
      allowed_(std::move(allowed)),
      dropout_(dropout),
      threads_(threads),
      active_(encoder.names_.active(allowed_.empty() ? nullptr : allowed_.data())) {
  if (!allowed_.empty() && allowed_.size() != encoder.size())
    throw std::invalid_argument("allowed has not one byte a token");
}

// Call work() on every thread, if there are chunks for several.
template <class Work>
void LineEncoder::on_threads(Work&& work) {
  if (threads_ <= 1 || used_chunks_ <= 1) return work();
  if (!crew_) crew_ = std::make_unique<Crew>(threads_);
  crew_->run([&](unsigned) { work(); });
}

// Is p, inside a line, where a word ends and the next begins with a space, whatever surrounds the two?
bool LineEncoder::may_cut(const uint8_t* p) const {
  return *p == ' ' && p[-1] > ' ' && p[-1] < 0x7F;
}

// Names may have spaces in them, dropout numbers the words of a line, and sums of scores go through it.
bool LineEncoder::cuts_lines() const {
  return !needs_lines() && active_.longest == 0 && dropout_.probability == 0 &&
         (encoder_.remembers_ || encoder_.matching_.anew);
}

// A run of unknown characters may go on from word to word, so that no place in a line is sure.
bool LineEncoder::needs_lines() const {
  return encoder_.fuse_unknown_ && encoder_.pretokenizer_ != Pretokenizer::whitespace;
}

// A line end about kChunk behind p; in a long line a place between two words will do.
const uint8_t* LineEncoder::chunk_end(const uint8_t* p, const uint8_t* end) const {
  if (end - p <= static_cast<ptrdiff_t>(kChunk)) return end;
  const uint8_t* stop = p + kChunk;
  const uint8_t* line_end = next_line_end(stop, end);
  if (line_end - stop <= static_cast<ptrdiff_t>(kChunk) || !cuts_lines()) return line_end;
  while (stop < line_end && !may_cut(stop)) ++stop;
  return stop;
}

void LineEncoder::add_chunk(const uint8_t* begin, const uint8_t* end) {
  if (used_chunks_ == chunks_.size()) chunks_.push_back(std::make_unique<Chunk>());
  Chunk& chunk = *chunks_[used_chunks_++];
  chunk.begin = begin;
  chunk.end = end;
  chunk.state = state_;
  chunk.invalid = nullptr;
  chunk.ids.clear();
  chunk.line_ends.clear();
  chunk.printed.clear();
  // How the next chunk begins.
  if (end[-1] == '\n') {
    state_.line = LineState{};
    state_.words = 0;
    state_.score = 0;
  } else {
    state_.line.at_start = false;
  }
  if (dropout_.probability > 0) state_.number += static_cast<uint64_t>(std::count(begin, end, '\n'));
}

void LineEncoder::encode_chunk(Chunk& chunk, EncodeWorker& worker) const {
  if ((chunk.invalid = find_invalid_utf8(chunk.begin, chunk.end))) return;
  worker.start(active_, dropout_, chunk.ids, chunk.line_ends);
  worker.encode_lines(chunk.begin, chunk.end, chunk.end, chunk.state);
  worker.flush();
}

FeedResult LineEncoder::feed(const uint8_t* data, size_t bytes, bool last) {
  FeedResult result;
  used_chunks_ = 0;
  const uint8_t* end = data + bytes;
  const uint8_t* stop = end;
  if (!last) {
    while (stop > data && stop[-1] != '\n') --stop;
    if (stop == data && cuts_lines())
      // A line longer than the data: up to its last word.
      for (stop = end - (bytes != 0); stop > data && !may_cut(stop); --stop) {}
  }
  if (stop > data) {
    for (const uint8_t* p = data; p < stop;) {
      const uint8_t* next = chunk_end(p, stop);
      add_chunk(p, next);
      p = next;
    }
    std::atomic<size_t> next{0};
    on_threads([&] {
      Encoder::Borrowed borrowed(encoder_);
      take_tasks(next, used_chunks_, [&](size_t i) { encode_chunk(*chunks_[i], *borrowed.worker); });
    });
    result.consumed = stop - data;
  } else if (!last && bytes > 0 && !needs_lines()) {
    // Take what words of it are sure.
    const uint8_t* whole = whole_characters(data, end);
    if (whole > data) {
      const TextState before = state_;
      add_chunk(data, whole);
      state_ = before;
      Chunk& chunk = *chunks_[0];
      if (!(chunk.invalid = find_invalid_utf8(data, whole))) {
        Encoder::Borrowed borrowed(encoder_);
        borrowed.worker->start(active_, dropout_, chunk.ids, chunk.line_ends);
        result.consumed = borrowed.worker->encode_text(data, whole, end, false, state_) - data;
        borrowed.worker->flush();
      }
    }
  }
  for (size_t i = 0; i < used_chunks_; ++i) {
    Chunk& chunk = *chunks_[i];
    if (chunk.invalid) {
      result.invalid_at = chunk.invalid - data;
      break;
    }
    chunk.in_line = line_has_ids_;
    result.lines += chunk.line_ends.size();
    const uint64_t last_end = chunk.line_ends.empty() ? 0 : chunk.line_ends.back();
    line_has_ids_ = (chunk.line_ends.empty() && line_has_ids_) || chunk.ids.size() > last_end;
  }
  if (result.consumed > 0) line_open_ = data[result.consumed - 1] != '\n';
  unfinished_ = last && line_open_;
  if (last) {
    state_.number += line_open_;
    state_.line = LineState{};
    state_.words = 0;
    state_.score = 0;
    line_open_ = line_has_ids_ = false;
  }
  return result;
}

void LineEncoder::collect() {
  std::vector<size_t> starts{0};
  for (size_t i = 0; i < used_chunks_; ++i) {
    starts.push_back(starts.back() + chunks_[i]->ids.size());
    for (const uint64_t end : chunks_[i]->line_ends) line_ends_.push_back(total_ + starts[i] + end);
  }
  uint32_t* out = collected_.room(starts.back());
  std::atomic<size_t> next{0};
  on_threads([&] {
    take_tasks(next, used_chunks_, [&](size_t i) {
      std::copy_n(chunks_[i]->ids.data(), chunks_[i]->ids.size(), out + starts[i]);
    });
  });
  collected_.advance(out + starts.back());
  total_ += starts.back();
  if (unfinished_) line_ends_.push_back(total_);
}

std::vector<uint8_t> LineEncoder::print(const PrintTable& table) {
  if (table.offsets.size() != encoder_.size() + 1)
    throw std::invalid_argument("the table has not one text a token");
  std::atomic<size_t> next{0};
  on_threads([&] { take_tasks(next, used_chunks_, [&](size_t i) { print_chunk(*chunks_[i], table); }); });
  std::vector<uint8_t> all;
  size_t bytes = 0;
  for (size_t i = 0; i < used_chunks_; ++i) bytes += chunks_[i]->printed.size();
  all.reserve(bytes);
  for (size_t i = 0; i < used_chunks_; ++i)
    all.insert(all.end(), chunks_[i]->printed.begin(), chunks_[i]->printed.end());
  return all;
}

void LineEncoder::print_chunk(Chunk& chunk, const PrintTable& table) {
  const uint32_t* ids = chunk.ids.data();
  size_t bytes = chunk.ids.size() + 1 + chunk.line_ends.size();
  for (size_t i = 0; i < chunk.ids.size(); ++i) bytes += table.offsets[ids[i] + 1] - table.offsets[ids[i]];
  chunk.printed.resize(bytes);
  uint8_t* out = chunk.printed.data();
  bool in_line = chunk.in_line;
  size_t i = 0;
  auto print_to = [&](size_t end) {
    for (; i < end; ++i) {
      if (in_line) *out++ = ' ';
      in_line = true;
      const uint64_t begin = table.offsets[ids[i]], size = table.offsets[ids[i] + 1] - begin;
      std::memcpy(out, table.text.data() + begin, size);
      out += size;
    }
  };
  for (const uint64_t line_end : chunk.line_ends) {
    print_to(line_end);
    *out++ = '\n';
    in_line = false;
  }
  print_to(chunk.ids.size());
  chunk.printed.resize(out - chunk.printed.data());
}

}  // namespace volt
