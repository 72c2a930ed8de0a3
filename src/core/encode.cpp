#include "encode.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "parallel.hpp"
#include "scan.hpp"
#include "unicode.hpp"

namespace volt {
namespace {

constexpr size_t kFew = 32;                  // up to this many symbols a scan beats a heap
constexpr size_t kMostPairs = size_t{1} << 26;
constexpr uint32_t kWhole = 0xFFFFFFFF;      // the longest word of a scanner: none is cut

inline uint64_t load(const uint8_t* p) {
  uint64_t value;
  std::memcpy(&value, p, 8);
  return value;
}

// Multiply to 128 bits and fold: the mixing step of wyhash.
inline uint64_t mix(uint64_t a, uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// The texts of the tokens that merge, marks included, each as often as it is needed backwards.
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

void PairTable::reserve(size_t pairs) {
  unsigned bits = 6;
  while ((size_t{1} << bits) < 2 * pairs) ++bits;
  slots_.assign(size_t{1} << bits, Slot{0, 0, kNoToken});
  mask_ = slots_.size() - 1;
  shift_ = 64 - bits;
}

void PairTable::set(uint32_t left, uint32_t right, uint32_t rank) {
  size_t i = slot_of(left, right);
  while (slots_[i].rank != kNoToken) {
    if (slots_[i].left == left && slots_[i].right == right)
      throw std::invalid_argument("two tokens are made of the same pair");
    i = (i + 1) & mask_;
  }
  slots_[i] = {left, right, rank};
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

// ------------------------------------------------------------------------------------------ Encoder

Encoder::Encoder(Pretokenizer pretokenizer, MergeRule rule, const TokenView& tokens)
    : pretokenizer_(pretokenizer),
      visible_(tokens.visible),
      unknown_(tokens.unknown),
      splits_(tokens.size > tokens.visible),
      tracks_merges_(splits_ && rule == MergeRule::concat) {
  if (tokens.size >= kNoToken || tokens.visible > tokens.size)
    throw std::invalid_argument("too many tokens");
  add_characters(tokens);
  check_merges(tokens);
  add_pairs(tokens, rule);
  const bool spells = pretokenizer_ == Pretokenizer::byte_level || !byte_tokens_.empty();
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
    if (kind > TokenKind::merged) throw std::invalid_argument("an unknown kind of token");
    if (kind != TokenKind::merged && t >= tokens.visible)
      throw std::invalid_argument("a hidden token that is not merged from others");
    if (bytes == 0) throw std::invalid_argument("a token without text");
    if (kind == TokenKind::byte) {
      if (bytes != 1 || byte_tokens[*text] != kNoToken)
        throw std::invalid_argument("a byte token that is not one byte, or is there twice");
      byte_tokens[*text] = t;
      ++bytes_known;
    }
    if (kind != TokenKind::character) continue;
    ++characters_known;
    uint32_t code_point = *text;
    if (pretokenizer_ == Pretokenizer::byte_level) {
      if (bytes != 1) throw std::invalid_argument("a byte character of several bytes");
    } else {
      if (find_invalid_utf8(text, text + bytes) || sequence_length(*text) != bytes)
        throw std::invalid_argument("a character token that is not one character");
      code_point = decode(text).code_point;
    }
    CharacterTable& table = tokens.word_final[t] ? final_characters_ : characters_;
    if (!table.set(code_point, t)) throw std::invalid_argument("a character is there twice");
  }
  if (pretokenizer_ == Pretokenizer::byte_level && characters_known != 256)
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
    if (bytes(t) != bytes(left) + bytes(right) || tokens.word_final[left] ||
        tokens.word_final[t] != tokens.word_final[right] ||
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
  constexpr uint8_t kFinal = 0xFF;  // the word-final mark; not a byte of UTF-8
  Keys forward, backward;
  std::vector<uint32_t> token_of, key_of(tokens.size, kNoToken);
  for (uint32_t t = 0; t < tokens.size; ++t) {
    const auto kind = static_cast<TokenKind>(tokens.kinds[t]);
    if (kind != TokenKind::character && kind != TokenKind::merged) continue;
    const uint8_t *begin = tokens.text + tokens.offsets[t], *end = tokens.text + tokens.offsets[t + 1];
    key_of[t] = static_cast<uint32_t>(token_of.size());
    token_of.push_back(t);
    forward.text.insert(forward.text.end(), begin, end);
    if (tokens.word_final[t]) {
      forward.text.push_back(kFinal);
      backward.text.push_back(kFinal);
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

// ------------------------------------------------------------------------------------- EncodeWorker

// Encodes words for one thread at a time.
class EncodeWorker {
 public:
  explicit EncodeWorker(const Encoder& encoder) : encoder_(encoder) {}

  // Encode one word, with a space before it if `prefix`. There is room at `out` for an id for every
  // byte and the space. Returns one past the last id.
  uint32_t* encode_word(bool prefix, const uint8_t* word, size_t bytes, uint32_t* out) {
    if (bytes + prefix > symbols_.size()) symbols_.resize(std::max<size_t>(2 * bytes, 64));
    const size_t size = spell(prefix, word, bytes);
    if (encoder_.tracks_merges_) return merge<true>(size, out);
    return merge<false>(size, out);
  }

 private:
  // Which two tokens were merged, and from what those were.
  struct Join {
    uint32_t left, left_join, right, right_join;
  };

  // The symbols of a word, and how many.
  size_t spell(bool prefix, const uint8_t* p, size_t bytes) {
    uint32_t* out = symbols_.data();
    if (encoder_.pretokenizer_ == Pretokenizer::byte_level) {
      for (size_t i = 0; i < bytes; ++i) out[i] = encoder_.characters_.find(p[i]);
      return bytes;
    }
    static constexpr uint8_t kSpaceText[] = {' '};
    if (prefix) out = spell_character(encoder_.characters_, kSpaceText, 1, ' ', out);
    const uint8_t* end = p + bytes;
    const bool marks_last = encoder_.pretokenizer_ == Pretokenizer::whitespace;
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

  template <bool track>
  uint32_t* merge(size_t size, uint32_t* out) {
    joins_.clear();
    return size <= kFew ? merge_few<track>(size, out) : merge_many<track>(size, out);
  }

  // The best pair is looked for anew before every merge; what the pairs make is remembered.
  template <bool track>
  uint32_t* merge_few(size_t size, uint32_t* out) {
    uint32_t* ids = symbols_.data();
    uint32_t ranks[kFew], joins[kFew];
    if (track) std::fill_n(joins, size, kNoToken);
    for (size_t i = 0; i + 1 < size; ++i) ranks[i] = encoder_.pairs_.find(ids[i], ids[i + 1]);
    for (;;) {
      uint32_t lowest = kNoToken;
      size_t at = 0;
      for (size_t i = 0; i + 1 < size; ++i)
        if (ranks[i] < lowest) lowest = ranks[i], at = i;  // leftmost on a tie
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
  // entry is out of date if the pair at its position makes something else by now.
  template <bool track>
  uint32_t* merge_many(size_t size, uint32_t* out) {
    if (size >= kNoToken) throw std::length_error("a word of more than 4,294,967,294 characters");
    links_.resize(size);
    heap_.clear();
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
    }
    for (uint32_t i = 0; i != kNoToken && i < size; i = links_[i].next)
      out = emit(links_[i].id, links_[i].join, out);
    return out;
  }

  struct Link {
    uint32_t id, previous, next;
    uint32_t rank;  // of what this and the next symbol make
    uint32_t join;
  };

  bool rank_pair(uint32_t at, uint32_t next) {
    links_[at].rank = encoder_.pairs_.find(links_[at].id, links_[next].id);
    if (links_[at].rank == kNoToken) return false;
    heap_.push_back(static_cast<uint64_t>(links_[at].rank) << 32 | at);
    return true;
  }
  void push_pair(uint32_t at, uint32_t next) {
    if (rank_pair(at, next)) std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
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
  std::vector<uint32_t> symbols_;
  std::vector<Link> links_;
  std::vector<uint64_t> heap_;
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
      encoder.idle_.reserve(encoder.idle_.capacity() + 1);  // so that giving back can't fail
      worker = std::make_unique<EncodeWorker>(encoder);
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

// Takes the words of a scanner to a worker.
struct WordSink {
  EncodeWorker& worker;
  IdBuffer& ids;

  void cut() {}
  void reserved() {
    // U+2581 in the text is no mark, and in no token.
    static constexpr uint8_t kMarkText[] = {0xE2, 0x96, 0x81};
    (*this)(kMarkText, kMarkText + 3, false, false);
  }
  void operator()(const uint8_t* begin, const uint8_t* end, bool prefix, bool) {
    const size_t bytes = end - begin;
    ids.advance(worker.encode_word(prefix, begin, bytes, ids.room(bytes + prefix)));
  }
};

}  // namespace

void Encoder::encode(const uint8_t* text, size_t bytes, uint64_t, const EncodeOptions&,
                     IdBuffer& ids) const {
  Borrowed borrowed(*this);
  WordSink sink{*borrowed.worker, ids};
  LineState state;
  const auto scan = pretokenizer_ == Pretokenizer::whitespace  ? scan_whitespace<WordSink>
                    : pretokenizer_ == Pretokenizer::metaspace ? scan_metaspace<WordSink>
                                                               : scan_byte_level<WordSink>;
  scan(text, text + bytes, state, true, kWhole, sink);
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
      const bool prefix = pretokenizer_ == Pretokenizer::metaspace && bytes >= 3 && word[0] == 0xE2 &&
                          word[1] == 0x96 && word[2] == 0x81;
      if (prefix) word += 3, bytes -= 3;
      uint32_t* out = parts[i].room(bytes + prefix);
      parts[i].advance(borrowed.worker->encode_word(prefix, word, bytes, out));
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

}  // namespace volt
