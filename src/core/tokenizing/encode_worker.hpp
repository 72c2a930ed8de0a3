// Encodes text on one thread: cuts it into words, encodes each, and remembers what common words became.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <iterator>
#include <vector>

#include "base/hash.hpp"
#include "base/stop.hpp"
#include "base/unicode.hpp"
#include "counting/bounded_words.hpp"
#include "counting/cuts.hpp"
#include "counting/scan.hpp"
#include "tokenizing/dropout.hpp"
#include "tokenizing/encode_tables.hpp"
#include "tokenizing/id_buffer.hpp"
#include "tokenizing/lookup_encoder.hpp"
#include "tokenizing/merge_encoder.hpp"
#include "tokenizing/word_cache.hpp"
#include "tokenizing/word_lengths.hpp"

namespace volt {

// Where a text that is encoded in parts stands.
struct TextState {
  LineState line;
  uint64_t number = 0;  // of the line
  uint64_t words = 0;   // of the line so far
  double score = 0;     // unigram: sum so far, of a text that goes on

  // A new line starts.
  void next_line() {
    line = LineState{};
    words = 0;
    score = 0;
  }
};

class EncodeWorker {
 public:
  explicit EncodeWorker(const EncodeTables& tables) : tables_(tables), merging_(tables), looking_up_(tables) {}

  // Where the ids of the next words go. `ends` gets the number of ids whenever a text ends. In a text that
  // goes on, the last id before may have been the unknown one.
  void start(const NameTable::Active& active, const Dropout& dropout, IdBuffer& ids,
             std::vector<uint64_t>& ends, bool after_unknown = false) {
    active_ = &active;
    dropout_ = dropout;
    ids_ = &ids;
    ends_ = &ends;
    pending_size_ = pending_bytes_ = 0;
    text_begin_ = ids.size();
    after_unknown_ = after_unknown;
    counting_ = false;
    waits_ = dropout.probability == 0;
  }

  // Only count the ids of the next words; `scratch` gets those of names, and of words that depend on
  // others. Not for vocabularies that fuse unknown characters.
  void start_counting(const NameTable::Active& active, IdBuffer& scratch, std::vector<uint64_t>& ends) {
    start(active, {}, scratch, ends);
    counting_ = tables_.remembers;
    counted_ = 0;
  }
  // How many there were.
  size_t counted() const { return counted_ + ids_->size(); }

  // Encode the text, or what is sure of it if it is not complete; returns how far that is. Names in
  // the text are tokens; the text between two of them is cut into words by itself. Memory may be read
  // up to `readable`; it must stay until `flush`.
  const uint8_t* encode_text(const uint8_t* p, const uint8_t* end, const uint8_t* readable, bool complete,
                             TextState& state) {
    go_on(state, readable);
    const uint8_t* done = encode_parts(p, end, complete);
    if (!complete && !tables_.remembers) {
      flush();
      state.score = score_;
    }
    return done;
  }

  // Encode whole lines; the last may lack its line end.
  void encode_lines(const uint8_t* p, const uint8_t* end, const uint8_t* readable, TextState& state) {
    go_on(state, readable);
    if (active_->longest == 0 && tables_.matching.adds_space && !state.line.continuing &&
        find_boundaries(tables_.pretokenizer, p, end, true, bounds_, tables_.word_ends()))
      return take_bounded_words<LineEnds::plain>(tables_.pretokenizer, p, end, bounds_, state.line.at_start,
                                                 *this, tables_.keeps_runs());
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

  // Encode a word that belongs to no text, with a space before it if `prefix`. `out` must have room for
  // one id per byte and one for the space. Returns one past the last id.
  uint32_t* encode_single_word(bool prefix, const uint8_t* word, size_t bytes, uint32_t* out) {
    state_ = nullptr;
    ids_ = nullptr;
    uint32_t* after = encode_word(prefix, word, bytes, out);
    return tables_.fuse_unknown ? fuse(out, after) : after;
  }

  // Encode the words that wait.
  void flush() {
    poll();
    if (pending_size_ == 0) return;
    // A word of n bytes has at most n ids; copies of remembered ids may write some too many.
    uint32_t* out = ids_->room(pending_bytes_ + ShortWords::kMostIds);
    for (size_t i = 0; i < pending_size_; ++i) {
      const Pending& word = pending_[i];
      uint32_t* const begin = out;
      switch (word.kind) {
        case Pending::short_word: out = recall_any(short_words_, word, out); break;
        case Pending::middle_word: out = recall_any(middle_words_, word, out); break;
        case Pending::long_word: out = encode_word(word.prefix, word.word, word.bytes, out); break;
        case Pending::text_end:
          ids_->advance(out);
          ends_->push_back(ids_->size());
          text_begin_ = ids_->size();
          after_unknown_ = false;
          score_ = 0;
      }
      if (tables_.fuse_unknown) [[unlikely]] out = fuse(begin, out);
    }
    ids_->advance(out);
    pending_size_ = pending_bytes_ = 0;
  }

  // Is the last id of the text so far the unknown one, which more unknown characters would join?
  bool ends_unknown() const {
    return ids_->size() > text_begin_ ? ids_->data()[ids_->size() - 1] == tables_.unknown : after_unknown_;
  }

  // What scanners call: a word,
  [[gnu::always_inline]] void operator()(const uint8_t* begin, const uint8_t* end, bool prefix, bool) {
    const auto bytes = static_cast<size_t>(end - begin);
    if (bytes > ShortWords::kMostBytes || prefix || readable_ - begin < 16 || !waits_) [[unlikely]]
      return add(begin, end, prefix, readable_);
    // As `add`, for nearly all words.
    Pending& word = pending_[pending_size_];
    make_short_key(word, load(begin), load(begin + 8), bytes);
    wait(word, bytes);
  }
  // a U+2581 of the text, which is not a mark, and in no token,
  void reserved() { add(kSpaceMarkText, std::end(kSpaceMarkText), false, std::end(kSpaceMarkText)); }
  // the start of a word that goes on after the data: returns how far its ids are sure,
  const uint8_t* take_start(const uint8_t* begin, const uint8_t* end, bool prefix) {
    const Matching& matching = tables_.matching;
    // The rest would have to know the sum of scores, or whether the last id is the unknown one.
    const bool depends = (matching.encoding == Encoding::unigram && tables_.remembers &&
                          (matching.single || !tables_.pieces.exact())) ||
                         (tables_.fuse_unknown && tables_.pretokenizer == Pretokenizer::whitespace);
    if (end - begin <= static_cast<ptrdiff_t>(matching.part) || dropout_.probability > 0 || depends)
      return begin;
    flush();
    uint32_t* const first = ids_->room(end - begin + prefix);
    uint32_t* out = first;
    double none = 0;
    const uint8_t* rest = encode_start(prefix, begin, end, out, tables_.remembers ? none : score_);
    ids_->advance(tables_.fuse_unknown ? fuse(first, out) : out);
    return rest;
  }
  // and the end of a line.
  void end_line() {
    end_text();
    state_->next_line();
    ++state_->number;
  }

 private:
  static constexpr size_t kBatch = 32;
  static constexpr ptrdiff_t kPart = 1 << 15;
  static constexpr uint32_t kWhole = 0xFFFFFFFF;  // the longest word of a scanner: none is cut
  using ShortWords = WordCache<2, 11>;
  using MiddleWords = WordCache<4, 7>;

  // A word whose slot was prefetched, but may not be in the processor's cache yet.
  struct Pending {
    enum Kind : uint8_t { short_word, middle_word, long_word, text_end } kind;
    bool prefix;
    size_t bytes;
    uint64_t hash;
    uint64_t key[4];
    const uint8_t* word;
  };

  // kLowBytes[24 + n] keeps the first n bytes of a little-endian integer, all if n >= 8, none if n <= 0.
  static constexpr std::array<uint64_t, 56> kLowBytes = [] {
    std::array<uint64_t, 56> masks{};
    for (size_t n = 1; n < 32; ++n) masks[24 + n] = n < 8 ? (uint64_t{1} << (8 * n)) - 1 : ~uint64_t{0};
    return masks;
  }();

  void go_on(TextState& state, const uint8_t* readable) {
    state_ = &state;
    readable_ = readable;
    if (pending_size_ == 0) score_ = state.score;  // else a text has ended, and this one starts from zero
  }

  // The text between names is scanned.
  const uint8_t* encode_parts(const uint8_t* p, const uint8_t* end, bool complete) {
    const NameTable::Active& active = *active_;
    if (active.longest == 0) return scan(p, end, complete);
    const uint8_t* limit = end;
    if (!complete) {
      limit -= std::min<ptrdiff_t>(end - p, active.longest);
      while (limit > p && is_continuation(*limit)) --limit;
    }
    NameTable::Finder finder(tables_.names, active, window_);
    while (p < limit) {
      const NameTable::Match match = finder.find(p, limit, end);
      if (match.token == kNoToken) return scan(p, limit, complete);
      scan(p, match.begin, true);
      flush();
      uint32_t* out = ids_->room(1);
      *out = match.token;
      ids_->advance(out + 1);
      text_begin_ = ids_->size();
      after_unknown_ = false;
      if (!tables_.remembers) score_ = looking_up_.after_symbol(score_, match.end - match.begin);
      state_->line.at_start = false;  // no space is added before text that starts with a name
      p = match.end;
    }
    return p;
  }

  const uint8_t* scan(const uint8_t* p, const uint8_t* end, bool complete) {
    if (!tables_.matching.adds_space) state_->line.at_start = false;
    if (!counting_ || !waits_) return scan(p, end, complete, *this);
    CountingSink sink{*this};
    p = scan(p, end, complete, sink);
    counted_ += sink.ids;
    return p;
  }
  // A long text is scanned in parts that stay in the processor's cache.
  template <class Sink>
  const uint8_t* scan(const uint8_t* p, const uint8_t* end, bool complete, Sink& sink) {
    while (complete && end - p > kPart) {
      const uint8_t* cut = next_cut(tables_.pretokenizer, p, p + kPart, end);
      if (cut == end) break;
      scan_part(p, cut, true, sink);
      poll_now();
      p = cut;
    }
    return scan_part(p, end, complete, sink);
  }
  template <class Sink>
  const uint8_t* scan_part(const uint8_t* p, const uint8_t* end, bool complete, Sink& sink) {
    if (complete && !state_->line.continuing &&
        find_boundaries(tables_.pretokenizer, p, end, false, bounds_, tables_.word_ends())) {
      take_bounded_words<LineEnds::none>(tables_.pretokenizer, p, end, bounds_, state_->line.at_start, sink,
                                         tables_.keeps_runs());
      return end;
    }
    return scan_words(tables_.pretokenizer, p, end, state_->line, complete, kWhole, sink, tables_.word_ends());
  }

  // Adds up the ids of words that do not depend on others. A number that is known is added at once: letting
  // words wait, as for encoding, takes a quarter more instructions.
  struct CountingSink {
    EncodeWorker& worker;
    const uint8_t* readable = worker.readable_;
    size_t ids = 0;

    [[gnu::always_inline]] void operator()(const uint8_t* begin, const uint8_t* end, bool prefix, bool) {
      const auto bytes = static_cast<size_t>(end - begin);
      if (bytes > ShortWords::kMostBytes || prefix || readable - begin < 16) [[unlikely]] {
        ids += worker.count_word(begin, bytes, prefix, readable);
        return;
      }
      const ShortKey key(load(begin), load(begin + 8), bytes);
      const size_t known = worker.lengths_.common(key.words);
      ids += known ? known : worker.count_short(key.words[0], key.words[1]);
    }
    void reserved() { ids += worker.count_word(kSpaceMarkText, kSpaceMarkBytes, false, std::end(kSpaceMarkText)); }
    void cut() {}
    void end_line() {}
  };

  [[gnu::noinline]] size_t count_short(uint64_t start, uint64_t rest) {
    Pending word;
    make_short_key(word, start, rest, rest >> 56);
    return ids_in(word);
  }
  [[gnu::noinline]] size_t count_word(const uint8_t* begin, size_t bytes, bool prefix, const uint8_t* readable) {
    Pending word;
    make_key(word, begin, bytes, prefix, readable);
    return ids_in(word);
  }

  [[gnu::noinline]] void add(const uint8_t* begin, const uint8_t* end, bool prefix, const uint8_t* readable) {
    const size_t bytes = end - begin;
    if (!waits_) [[unlikely]] {
      flush();
      uint32_t* out = ids_->room(bytes + prefix + ShortWords::kMostIds);
      Coin coin(dropout_, state_->number, state_->words++);
      uint32_t* after = encode_word(prefix, begin, bytes, out, &coin);
      ids_->advance(tables_.fuse_unknown ? fuse(out, after) : after);
      return;
    }
    Pending& word = pending_[pending_size_];
    make_key(word, begin, bytes, prefix, readable);
    wait(word, bytes + prefix);
  }

  // Let the next word wait until what is known of it has come from memory.
  [[gnu::always_inline]] void wait(const Pending& word, size_t bytes) {
    pending_bytes_ += bytes;
    if (word.kind == Pending::middle_word) [[unlikely]] middle_words_.prefetch(word.hash);
    else short_words_.prefetch(word.hash);
    if (++pending_size_ == kBatch) flush();
  }

  struct ShortKey {
    uint64_t words[2];

    ShortKey(uint64_t start, uint64_t rest, size_t bytes)
        : words{start & kLowBytes[24 + bytes],
                (rest & kLowBytes[16 + bytes]) | static_cast<uint64_t>(bytes) << 56} {}
    uint64_t hash() const { return ShortWords::hash_of(words); }
  };

  [[gnu::always_inline]] static void make_short_key(Pending& word, uint64_t start, uint64_t rest, size_t bytes) {
    const ShortKey key(start, rest, bytes);
    word.kind = Pending::short_word;
    word.bytes = bytes;
    word.key[0] = key.words[0];
    word.key[1] = key.words[1];
    word.hash = key.hash();
  }

  static void make_key(Pending& word, const uint8_t* begin, size_t bytes, bool prefix,
                       const uint8_t* readable) {
    const size_t size = bytes + prefix;
    if (size <= ShortWords::kMostBytes) [[likely]] {
      if (!prefix && readable - begin >= 16) return make_short_key(word, load(begin), load(begin + 8), size);
      uint8_t copy[16] = {' '};
      std::memcpy(copy + prefix, begin, bytes);
      return make_short_key(word, load(copy), load(copy + 8), size);
    }
    word.prefix = prefix;
    if (size <= MiddleWords::kMostBytes) {
      word.kind = Pending::middle_word;
      word.bytes = size;
      if (!prefix && readable - begin >= 32) [[likely]] {
        for (size_t i = 0; i < 4; ++i) word.key[i] = load(begin + 8 * i) & kLowBytes[24 - 8 * i + size];
      } else {
        uint8_t copy[32] = {' '};
        std::memcpy(copy + prefix, begin, bytes);
        std::memcpy(word.key, copy, sizeof copy);
      }
      word.key[3] |= static_cast<uint64_t>(size) << 56;
      word.hash = MiddleWords::hash_of(word.key);
    } else {
      word.kind = Pending::long_word;
      word.hash = 0;
      word.word = begin;
      word.bytes = bytes;
    }
  }

  template <class Cache>
  uint32_t* recall_any(Cache& cache, const Pending& word, uint32_t* out) {
    return tables_.remembers ? recall(cache, word, out) : recall_scored(cache, word, out);
  }

  // As `recall`, for words whose ids may depend on the sum of scores before them.
  template <class Cache>
  uint32_t* recall_scored(Cache& cache, const Pending& word, uint32_t* out) {
    uint8_t copy[32];
    std::memcpy(copy, word.key, sizeof copy);
    float limit = 0;
    uint32_t* after = out;
    if (const auto* slot = cache.find(word.key, word.hash)) [[likely]] {
      limit = slot->limit();
      after = slot->copy_to(out);
    } else {
      after = looking_up_.encode_anywhere(copy, word.bytes, out, limit);
      cache.add(word.key, word.hash, out, after, limit);
    }
    if (tables_.matching.restart && copy[0] == ' ') score_ = 0;
    if (std::abs(score_) > limit) [[unlikely]] return encode_word(false, copy, word.bytes, out);
    score_ = looking_up_.after_tokens(score_, out, after);
    return after;
  }

  // The number of ids of a word, remembered or found now.
  size_t ids_in(const Pending& word) {
    if (word.kind == Pending::short_word) [[likely]] {
      if (const size_t known = lengths_.find(word.key)) [[likely]] return known;
    } else if (word.kind == Pending::middle_word) {
      if (const auto* slot = middle_words_.find(word.key, word.hash)) return slot->size;
    }
    uint32_t* const out = ids_->room(word.bytes + 1 + ShortWords::kMostIds);  // used again, not kept
    if (word.kind == Pending::long_word) return encode_word(word.prefix, word.word, word.bytes, out) - out;
    if (word.kind == Pending::middle_word) return recall(middle_words_, word, out) - out;
    const size_t ids = recall(short_words_, word, out) - out;
    lengths_.add(word.key, ids);
    return ids;
  }

  // The ids of a word, remembered or encoded now.
  template <class Cache>
  uint32_t* recall(Cache& cache, const Pending& word, uint32_t* out) {
    if (const auto* slot = cache.find(word.key, word.hash)) [[likely]] return slot->copy_to(out);
    uint8_t copy[32];
    std::memcpy(copy, word.key, sizeof copy);
    uint32_t* after = encode_word(false, copy, word.bytes, out);
    cache.add(word.key, word.hash, out, after);
    return after;
  }

  uint32_t* encode_word(bool prefix, const uint8_t* word, size_t bytes, uint32_t* out,
                        Coin* coin = nullptr) {
    double none = 0;
    double& score = ids_ == nullptr || tables_.remembers ? none : score_;
    if (bytes > tables_.matching.part && coin == nullptr) [[unlikely]] {
      const uint8_t* rest = encode_start(prefix, word, word + bytes, out, score);
      prefix = prefix && rest == word;
      bytes -= rest - word;
      word = rest;
    }
    if (tables_.matching.encoding != Encoding::merge) return looking_up_.encode(prefix, word, bytes, out, score);
    if (tables_.matching.whole_words && coin == nullptr) {
      if (const uint32_t token = tables_.pieces.find(word, bytes); token != kNoToken) {
        *out = token;
        return out + 1;
      }
    }
    return merging_.encode(prefix, word, bytes, out, coin);
  }

  // A long word in parts, as far as its ids are sure. A part from which nothing is sure is made longer.
  const uint8_t* encode_start(bool prefix, const uint8_t* p, const uint8_t* end, uint32_t*& out, double& score) {
    for (size_t part = tables_.matching.part; part < static_cast<size_t>(end - p);) {
      const uint8_t* stop = p + part;
      while (stop > p && is_continuation(*stop)) --stop;
      const uint8_t* rest = tables_.matching.encoding == Encoding::merge
                                ? merging_.encode_start(prefix, p, stop, out)
                                : looking_up_.encode_start(prefix, p, stop, out, score);
      if (rest == p) part *= 2;
      prefix = prefix && rest == p;
      p = rest;
    }
    return p;
  }

  // One unknown token for a run of them. In whitespace mode a run ends with the word.
  uint32_t* fuse(uint32_t* begin, uint32_t* end) {
    const bool by_word = tables_.pretokenizer == Pretokenizer::whitespace || ids_ == nullptr;
    const uint32_t* first = by_word ? begin : ids_->data() + text_begin_;
    const bool after = !by_word && after_unknown_;
    uint32_t* out = begin;
    for (const uint32_t* p = begin; p < end; ++p)
      if (*p != tables_.unknown || !(out == first ? after : out[-1] == tables_.unknown)) *out++ = *p;
    return out;
  }

  const EncodeTables& tables_;
  const NameTable::Active* active_ = nullptr;
  Dropout dropout_;
  IdBuffer* ids_ = nullptr;
  std::vector<uint64_t>* ends_ = nullptr;
  const uint8_t* readable_ = nullptr;
  TextState* state_ = nullptr;
  double score_ = 0;  // unigram: sum so far, of the words that do not wait any more
  size_t text_begin_ = 0;  // of the ids, where the text or the last name in it began
  bool after_unknown_ = false;

  NameTable::Window window_;
  MergeEncoder merging_;
  LookupEncoder looking_up_;
  ShortWords short_words_;
  MiddleWords middle_words_;
  WordLengths lengths_;
  std::vector<uint64_t> bounds_;
  Pending pending_[kBatch];
  size_t pending_size_ = 0, pending_bytes_ = 0;
  bool counting_ = false, waits_ = true;
  size_t counted_ = 0;
};

}  // namespace volt
