// What encodes words for one thread at a time.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <iterator>
#include <utility>

#include "encode.hpp"
#include "hash.hpp"
#include "marked_words.hpp"
#include "scan.hpp"
#include "unicode.hpp"
#include "word_cache.hpp"

namespace volt {

constexpr size_t kFew = 32;                  // up to this many symbols a scan beats a heap
constexpr uint32_t kWhole = 0xFFFFFFFF;      // the longest word of a scanner: none is cut
constexpr uint8_t kMarkText[] = {0xE2, 0x96, 0x81};  // U+2581

// kLowBytes[8 + n] keeps the first n bytes of a little-endian integer, all for n >= 8, none for n <= 0.
constexpr std::array<uint64_t, 24> kLowBytes = [] {
  std::array<uint64_t, 24> masks{};
  for (size_t n = 1; n < 16; ++n) masks[8 + n] = n < 8 ? (uint64_t{1} << (8 * n)) - 1 : ~uint64_t{0};
  return masks;
}();

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
      return take_marked_words<LineEnds::plain>(encoder_.pretokenizer_, p, end, marks_, state.line.at_start, *this);
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
  void end_line() {
    end_text();
    state_->line = LineState{};
    ++state_->number;
    state_->words = 0;
    state_->score = 0;
  }

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
      take_marked_words<LineEnds::none>(encoder_.pretokenizer_, p, end, marks_, state_->line.at_start, *this);
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

}  // namespace volt
