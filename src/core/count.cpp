#include "count.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <stdexcept>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "hash.hpp"
#include "marked_words.hpp"
#include "parallel.hpp"
#include "scan.hpp"
#include "spill.hpp"
#include "unicode.hpp"

namespace volt {
namespace {

constexpr size_t kSegment = 256 * 1024;   // validate and scan this much at a time, to stay in cache
// Less is counted sooner than threads are started: of a million small files that is most of the time.
constexpr size_t kWorthThreads = 16 * 1024;
constexpr size_t kArenaChunk = 1 << 20;

uint64_t hash_long(const uint8_t* p, size_t bytes) {
  uint64_t hash = bytes;
  const uint8_t* end = p + bytes;
  for (; end - p > 16; p += 16)
    hash = mix(load(p) ^ 0xA0761D6478BD642Full, load(p + 8) ^ hash ^ 0x8EBC6AF09C88C6E3ull);
  return mix(load(end - 16) ^ 0xA0761D6478BD642Full, load(end - 8) ^ hash);
}

// A mask of the first n bytes of a little-endian integer, n < 8.
constexpr uint64_t low_mask(size_t n) { return (uint64_t{1} << (8 * n)) - 1; }

}  // namespace

// ---------------------------------------------------------------------------------------- WordTable

template <size_t kWords>
inline uint64_t InlineTable<kWords>::hash_of(const Key& key) {
  uint64_t hash = 0xE7037ED1A0B428DBull;
  for (size_t i = 0; i < kWords; i += 2)
    hash = mix(key[i] ^ 0x9E3779B97F4A7C15ull, (i + 1 < kWords ? key[i + 1] : 0) ^ hash);
  return hash;
}

WordTable::WordTable() : long_slots_(1 << 8) {}

// What to keep of 16 bytes for a word of so many, and its length in the top byte: looked up, since a
// branch on the length of words can't be predicted.
struct Shape {
  uint64_t low_mask, high_mask, length;
};
constexpr std::array<Shape, 16> kShapes = [] {
  std::array<Shape, 16> shapes{};
  for (uint64_t bytes = 1; bytes < 16; ++bytes)
    shapes[bytes] = {bytes < 8 ? low_mask(bytes) : ~uint64_t{0}, bytes < 8 ? 0 : low_mask(bytes - 8),
                     bytes << 56};
  return shapes;
}();

[[gnu::always_inline]] inline void WordTable::add(const uint8_t* word, size_t bytes,
                                                  const uint8_t* readable, uint64_t count) {
  if (bytes > InlineTable<2>::kBytes || readable - word < 16) [[unlikely]]
    return add_uncommon(word, bytes, count);
  const Shape& shape = kShapes[bytes];
  shorts_.add({load(word) & shape.low_mask, (load(word + 8) & shape.high_mask) | shape.length}, count);
}

void WordTable::add_uncommon(const uint8_t* word, size_t bytes, uint64_t count) {
  if (bytes > InlineTable<4>::kBytes) return add_long(word, bytes, count);
  std::array<uint64_t, 4> key{};
  std::memcpy(key.data(), word, bytes);
  const uint64_t length = static_cast<uint64_t>(bytes) << 56;
  if (bytes > InlineTable<2>::kBytes)
    wides_.add({key[0], key[1], key[2], key[3] | length}, count);
  else
    shorts_.add({key[0], key[1] | length}, count);
}

void WordTable::flush() {
  shorts_.settle();
  wides_.settle();
}

void WordTable::add_long(const uint8_t* word, size_t bytes, uint64_t count) {
  const uint64_t hash = hash_long(word, bytes);
  const size_t mask = long_slots_.size() - 1;
  for (size_t i = hash & mask;; i = (i + 1) & mask) {
    LongSlot& slot = long_slots_[i];
    if (slot.word == nullptr) {
      slot = {hash, count, keep(word, bytes), bytes};
      if (++long_size_ * 2 > long_slots_.size()) grow_long();
      return;
    }
    if (slot.hash == hash && slot.bytes == bytes && std::memcmp(slot.word, word, bytes) == 0) {
      slot.count += count;
      return;
    }
  }
}

void WordTable::grow_long() {
  HugeVector<LongSlot> old(long_slots_.size() * 2);
  old.swap(long_slots_);
  const size_t mask = long_slots_.size() - 1;
  for (const LongSlot& slot : old) {
    if (slot.word == nullptr) continue;
    size_t i = slot.hash & mask;
    while (long_slots_[i].word != nullptr) i = (i + 1) & mask;
    long_slots_[i] = slot;
  }
}

const uint8_t* WordTable::keep(const uint8_t* word, size_t bytes) {
  if (bytes > arena_capacity_ - arena_used_) {
    arena_capacity_ = std::max(bytes, kArenaChunk);
    arena_.push_back(std::make_unique<uint8_t[]>(arena_capacity_));
    arena_bytes_ += arena_capacity_;
    arena_used_ = 0;
  }
  uint8_t* copy = arena_.back().get() + arena_used_;
  std::memcpy(copy, word, bytes);
  arena_used_ += bytes;
  return copy;
}

template <class Visit>
void WordTable::for_each(Visit&& visit) const {
  shorts_.for_each(visit);
  wides_.for_each(visit);
  for (const LongSlot& slot : long_slots_)
    if (slot.word != nullptr) visit(slot.word, static_cast<size_t>(slot.bytes), slot.count);
}

void WordTable::clear() { *this = WordTable(); }

size_t WordTable::memory(size_t text_bytes) const {
  // Words of one and two bytes are few; all others take four bytes of text, their blank included.
  size_t bytes = shorts_.memory(text_bytes / 4) + wides_.memory(text_bytes / InlineTable<2>::kBytes);
  size_t slots = long_slots_.size();
  while ((long_size_ + text_bytes / InlineTable<4>::kBytes) * 2 > slots) slots *= 2;
  bytes += (slots == long_slots_.size() ? slots : slots + slots / 2) * sizeof(LongSlot);
  return bytes + arena_bytes_ + text_bytes;
}

void WordTable::prune(uint64_t limit) {
  WordTable kept;
  for_each([&](const uint8_t* word, size_t bytes, uint64_t count) {
    if (count > limit) kept.add(word, bytes, count);
  });
  kept.flush();
  *this = std::move(kept);
}

// ------------------------------------------------------------------------------------------ Counter

namespace {

// Takes the words of a scanner to a table; cuts those that are too long.
struct TableSink {
  WordTable& table;
  const uint8_t* readable;
  const uint32_t max_length;
  const uint64_t weight;
  uint64_t words = 0, cut_words = 0, reserved_marks = 0;

  void cut() { ++cut_words; }
  void reserved() { ++reserved_marks; }
  void end_line() {}

  [[gnu::always_inline]] void piece(const uint8_t* begin, const uint8_t* end, bool prefix) {
    ++words;
    if (prefix) [[unlikely]] return prefixed(begin, end);
    table.add(begin, end - begin, readable, weight);
  }
  // The space that metaspace puts before a line is not in the text: spell it out.
  [[gnu::noinline]] void prefixed(const uint8_t* begin, const uint8_t* end) {
    uint8_t inline_copy[512];
    std::vector<uint8_t> heap_copy;
    const size_t bytes = end - begin + 1;
    uint8_t* copy = inline_copy;
    if (bytes > sizeof inline_copy) {
      heap_copy.resize(bytes);
      copy = heap_copy.data();
    }
    copy[0] = ' ';
    std::memcpy(copy + 1, begin, bytes - 1);
    table.add(copy, bytes, weight);
  }

  [[gnu::always_inline]] void operator()(const uint8_t* begin, const uint8_t* end, bool prefix,
                                         bool continued) {
    if (end - begin + prefix <= static_cast<ptrdiff_t>(max_length)) [[likely]]
      return piece(begin, end, prefix);
    cut_word(begin, end, prefix, continued);
  }
  [[gnu::noinline]] void cut_word(const uint8_t* begin, const uint8_t* end, bool prefix, bool continued) {
    size_t characters = count_characters(begin, end) + prefix;
    if (characters > max_length && !continued) ++cut_words;
    for (size_t room = max_length - prefix; characters > max_length; room = max_length) {
      const uint8_t* p = begin;
      for (size_t i = 0; i < room; ++i) p += sequence_length(*p);
      piece(begin, p, prefix);
      prefix = false;
      begin = p;
      characters -= max_length;
    }
    piece(begin, end, prefix);
  }
};

// Words between ASCII white space in a range that ends with a line or with the text: 64 bytes at a time.
void scan_whitespace_fast(const uint8_t* p, const uint8_t* end, LineState& state, TableSink& sink) {
#if defined(__SSE2__)
  const __m128i space = _mm_set1_epi8(' '), tab = _mm_set1_epi8('\t'), line = _mm_set1_epi8('\n'),
                carriage = _mm_set1_epi8('\r');
  const uint8_t* word = nullptr;  // start of the word we are in
  while (end - p >= 64) {
    uint64_t blanks = 0;
    for (int i = 0; i < 4; ++i) {
      const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 16 * i));
      const __m128i hit = _mm_or_si128(
          _mm_or_si128(_mm_cmpeq_epi8(bytes, space), _mm_cmpeq_epi8(bytes, tab)),
          _mm_or_si128(_mm_cmpeq_epi8(bytes, line), _mm_cmpeq_epi8(bytes, carriage)));
      blanks |= static_cast<uint64_t>(static_cast<uint32_t>(_mm_movemask_epi8(hit))) << (16 * i);
    }
    // Bits where a word begins or ends: where a byte differs from the one before it.
    uint64_t edges = blanks ^ (blanks << 1 | (word == nullptr));
    while (edges) {
      const uint8_t* at = p + __builtin_ctzll(edges);
      edges &= edges - 1;
      if (word == nullptr) {
        word = at;
      } else {
        sink(word, at, false, state.continuing != 0);
        state.continuing = 0;
        word = nullptr;
      }
    }
    p += 64;
  }
  if (word != nullptr) p = word;
#endif
  scan_whitespace(p, end, state, true, sink.max_length, sink);
}

uint64_t count_lines(const uint8_t* p, const uint8_t* end) { return std::count(p, end, '\n'); }

// One past the last line end of [p, end), or p.
const uint8_t* last_line_end(const uint8_t* p, const uint8_t* end) {
  while (end > p && end[-1] != '\n') --end;
  return end;
}

// Scan whole lines; the last may lack its line end.
void scan_lines(Pretokenizer pretokenizer, const uint8_t* p, const uint8_t* end, LineState& state,
                std::vector<uint64_t>& marks, TableSink& sink) {
  if (pretokenizer == Pretokenizer::whitespace) return scan_whitespace_fast(p, end, state, sink);
  const bool in_line = !state.at_start || state.continuing;  // only the scanners go on from there
  if (!in_line && mark_words(pretokenizer, p, end, true, marks))
    return take_marked_words<LineEnds::trimmed>(pretokenizer, p, end, marks, state.at_start, sink);
  while (p < end) {
    const uint8_t* next = next_line_end(p, end);
    const uint8_t* line_end = next;
    if (line_end > p && line_end[-1] == '\n') {
      --line_end;
      if (line_end > p && line_end[-1] == '\r') --line_end;
    }
    if (pretokenizer == Pretokenizer::metaspace)
      scan_metaspace(p, line_end, state, true, sink.max_length, sink);
    else
      scan_bytes(pretokenizer, p, line_end, state, true, sink.max_length, sink);
    state = LineState{};
    p = next;
  }
}

}  // namespace

Counter::Counter(Pretokenizer pretokenizer, uint32_t max_word_length, unsigned threads,
                 uint64_t max_types)
    : pretokenizer_(pretokenizer), max_word_length_(max_word_length), max_types_(max_types),
      tables_(std::max(1u, threads)) {
  if (max_word_length < 2) throw std::invalid_argument("max_word_length must be at least 2");
}

void Counter::add_totals(uint64_t words, uint64_t cut_words, uint64_t reserved, uint64_t weight) {
  auto add = [weight](uint64_t& total, uint64_t more) {
    if (__builtin_mul_overflow(more, weight, &more) || __builtin_add_overflow(total, more, &total) ||
        total >> 63)
      throw std::overflow_error("the counts do not fit 63 bits");
  };
  // Every count is at most the number of words, so checking this sum checks all of them.
  add(totals_.words, words);
  add(totals_.reserved, reserved);
  totals_.cut_words += cut_words;
}

FeedResult Counter::feed(const uint8_t* data, size_t bytes, bool last, uint64_t weight) {
  FeedResult result;
  const uint8_t* end = data + bytes;
  const uint8_t* lines_end = last ? end : last_line_end(data, end);

  if (lines_end > data) {
    const unsigned threads = static_cast<unsigned>(tables_.size());
    std::vector<const uint8_t*> bounds{data};
    for (unsigned i = 1; i < threads; ++i)
      bounds.push_back(
          std::max(bounds.back(), next_line_end(data + (lines_end - data) * i / threads, lines_end)));
    bounds.push_back(lines_end);

    std::vector<const uint8_t*> invalid(threads, nullptr);
    std::vector<TableSink> sinks;
    std::vector<uint64_t> line_counts(threads, 0);
    for (WordTable& table : tables_) sinks.push_back({table, end, max_word_length_, weight});
    const auto count_part = [&](unsigned i) {
      LineState state = i == 0 ? state_ : LineState{};
      std::vector<uint64_t> marks;
      for (const uint8_t* p = bounds[i]; p < bounds[i + 1];) {
        const uint8_t* stop = bounds[i + 1];
        if (stop - p > static_cast<ptrdiff_t>(kSegment)) stop = next_line_end(p + kSegment, stop);
        if ((invalid[i] = find_invalid_utf8(p, stop))) return;
        line_counts[i] += count_lines(p, stop);
        scan_lines(pretokenizer_, p, stop, state, marks, sinks[i]);
        p = stop;
      }
      tables_[i].flush();
    };
    if (bytes >= kWorthThreads)
      run_parallel(threads, count_part);
    else
      for (unsigned i = 0; i < threads; ++i) count_part(i);
    for (unsigned i = 0; i < threads; ++i) {
      if (invalid[i] && result.invalid_at < 0) result.invalid_at = invalid[i] - data;
      add_totals(sinks[i].words, sinks[i].cut_words, sinks[i].reserved_marks, weight);
      result.lines += line_counts[i];
    }
    state_ = LineState{};
    result.consumed = lines_end - data;
  } else if (!last) {
    // A line longer than the data: take what words of it are sure.
    const uint8_t* stop = whole_characters(data, end);
    if (const uint8_t* invalid = find_invalid_utf8(data, stop)) {
      result.invalid_at = invalid - data;
      return result;
    }
    TableSink sink{tables_[0], end, max_word_length_, weight};
    const uint8_t* taken =
        pretokenizer_ == Pretokenizer::whitespace  ? scan_whitespace(data, stop, state_, false, max_word_length_, sink)
        : pretokenizer_ == Pretokenizer::metaspace ? scan_metaspace(data, stop, state_, false, max_word_length_, sink)
        : scan_bytes(pretokenizer_, data, stop, state_, false, max_word_length_, sink);
    result.consumed = taken - data;
    tables_[0].flush();
    add_totals(sink.words, sink.cut_words, sink.reserved_marks, weight);
  }
  if (last) state_ = LineState{};
  limit_types();
  return result;
}

void Counter::add(std::string_view word, uint64_t count) {
  add_totals(count, 0, 0, 1);
  const uint8_t* p = reinterpret_cast<const uint8_t*>(word.data());
  if (pretokenizer_ == Pretokenizer::metaspace && word.substr(0, 3) == "\xE2\x96\x81") {
    std::string spelled = " " + std::string(word.substr(3));  // inside a table the mark is a space
    p = reinterpret_cast<const uint8_t*>(spelled.data());
    tables_[0].add(p, spelled.size(), count);
  } else {
    tables_[0].add(p, word.size(), count);
  }
  tables_[0].flush();
}

void Counter::merge_tables() {
  for (size_t i = 1; i < tables_.size(); ++i) {
    if (tables_[i].size() == 0) continue;
    tables_[i].for_each([&](const uint8_t* word, size_t bytes, uint64_t count) {
      tables_[0].add(word, bytes, count);
    });
    tables_[0].flush();
    tables_[i].clear();
  }
}

// Lossy counting with a bound on the table: when it has more than max_types words, the rarest go,
// all of one count together, until three quarters of the bound remain. Only the words seen so far
// decide, never how many threads saw them.
void Counter::limit_types() {
  if (max_types_ == 0) return;
  size_t upper_bound = 0;
  for (const WordTable& table : tables_) upper_bound += table.size();
  if (upper_bound <= max_types_) return;
  merge_tables();
  if (tables_[0].size() <= max_types_) return;
  std::map<uint64_t, uint64_t> types_of_count;
  tables_[0].for_each([&](const uint8_t*, size_t, uint64_t count) { ++types_of_count[count]; });
  uint64_t left = tables_[0].size(), limit = 0;
  // Words that are all equally rare would all go; there is room to wait and see.
  if (types_of_count.size() == 1 && left / 4 <= max_types_) return;
  for (const auto& [count, types] : types_of_count) {
    if (left <= max_types_ - max_types_ / 4) break;
    left -= types;
    limit = count;
    totals_.pruned_words += count * types;
  }
  tables_[0].prune(limit);
  totals_.max_undercount += limit;
}

namespace {

struct SpilledWord {
  uint64_t prefix;  // the first eight bytes, to compare as one number
  const uint8_t* word;
  size_t bytes;
  uint64_t count;
};

}  // namespace

size_t Counter::memory(size_t text_bytes) const {
  size_t bytes = 0;
  for (const WordTable& table : tables_)
    bytes += table.memory(text_bytes / tables_.size()) +
             (table.size() + text_bytes / tables_.size() / 4) * sizeof(SpilledWord);
  return bytes;
}

size_t Counter::spill(const std::string& prefix) {
  std::vector<std::string> paths(tables_.size());
  size_t runs = 0;
  for (size_t i = 0; i < tables_.size(); ++i)
    if (tables_[i].size() > 0) paths[i] = prefix + std::to_string(runs++);
  run_parallel(static_cast<unsigned>(tables_.size()), [&](unsigned i) {
    if (paths[i].empty()) return;
    HugeVector<SpilledWord> words;
    words.reserve(tables_[i].size());
    tables_[i].for_each([&](const uint8_t* word, size_t bytes, uint64_t count) {
      // Short words are followed by zeros in their slots.
      words.push_back({__builtin_bswap64(load(word)), word, bytes, count});
    });
    std::sort(words.begin(), words.end(), [](const SpilledWord& a, const SpilledWord& b) {
      if (a.prefix != b.prefix) return a.prefix < b.prefix;
      const int order = std::memcmp(a.word, b.word, std::min(a.bytes, b.bytes));
      return order != 0 ? order < 0 : a.bytes < b.bytes;
    });
    RunWriter writer(paths[i]);
    for (const SpilledWord& item : words)
      writer.add({reinterpret_cast<const char*>(item.word), item.bytes}, item.count);
    writer.finish();
    tables_[i].clear();
  });
  return runs;
}

WordList Counter::finish(uint64_t min_count) {
  const unsigned threads = static_cast<unsigned>(tables_.size());
  merge_tables();

  // 1. List the words by count: a bucket for each count, the last one for all that are higher.
  struct Item {
    uint64_t count, prefix;  // the first eight bytes, to compare as one number
    const uint8_t* word;     // in the table, where a space is not yet spelled as the mark
    size_t bytes;
  };
  constexpr uint64_t kBuckets = 1 << 12;
  const auto bucket_of = [](uint64_t count) { return kBuckets - 1 - std::min(count, kBuckets - 1); };
  std::vector<size_t> ends(kBuckets, 0);
  tables_[0].for_each([&](const uint8_t*, size_t, uint64_t count) {
    if (count >= min_count) ++ends[bucket_of(count)];
  });
  std::vector<size_t> starts(kBuckets, 0);
  for (size_t bucket = 1; bucket < kBuckets; ++bucket) starts[bucket] = starts[bucket - 1] + ends[bucket - 1];
  ends = starts;
  const auto marked = [this](const uint8_t* word) {
    return pretokenizer_ == Pretokenizer::metaspace && *word == ' ';
  };
  HugeVector<Item> items(tables_[0].size());
  tables_[0].for_each([&](const uint8_t* word, size_t bytes, uint64_t count) {
    if (count < min_count) return;
    uint8_t head[8] = {0xE2, 0x96, 0x81};
    if (marked(word))
      std::memcpy(head + 3, word + 1, std::min<size_t>(bytes - 1, 5));
    else
      std::memcpy(head, word, std::min<size_t>(bytes, 8));
    if (!marked(word) && bytes < 3) std::memset(head + bytes, 0, 3 - bytes);
    items[ends[bucket_of(count)]++] = {count, __builtin_bswap64(load(head)), word, bytes};
  });
  items.resize(ends.back());

  // 2. Sort: highest count first, then bytes. This is a total order: words are distinct. Two words
  // with the same first eight bytes both have the mark or both have none.
  const auto before = [](const Item& a, const Item& b) {
    if (a.count != b.count) return a.count > b.count;
    if (a.prefix != b.prefix) return a.prefix < b.prefix;
    const int order = std::memcmp(a.word, b.word, std::min(a.bytes, b.bytes));
    return order != 0 ? order < 0 : a.bytes < b.bytes;
  };
  std::atomic<size_t> next{kBuckets};  // the rare words make the largest buckets: they come first
  run_parallel(threads, [&](unsigned) {
    for (size_t bucket; (bucket = --next) < kBuckets;)
      std::sort(items.begin() + starts[bucket], items.begin() + ends[bucket], before);
  });

  // 3. The most frequent max_types of them, in order.
  if (max_types_ != 0 && items.size() > max_types_) {
    for (size_t i = max_types_; i < items.size(); ++i) totals_.pruned_words += items[i].count;
    items.resize(max_types_);
  }
  WordList list;
  list.offsets.resize(items.size() + 1);
  list.counts.resize(items.size());
  for (size_t i = 0; i < items.size(); ++i)
    list.offsets[i + 1] = list.offsets[i] + items[i].bytes + (marked(items[i].word) ? 2 : 0);
  list.text.resize(list.offsets.back());
  run_parallel(threads, [&](unsigned share) {
    for (size_t i = items.size() * share / threads; i < items.size() * (share + 1) / threads; ++i) {
      const Item& item = items[i];
      if (i + 16 < items.size()) __builtin_prefetch(items[i + 16].word);
      uint8_t* out = list.text.data() + list.offsets[i];
      const bool mark = marked(item.word);
      if (mark) {
        for (uint8_t byte : {0xE2, 0x96, 0x81}) *out++ = byte;
      }
      std::memcpy(out, item.word + mark, item.bytes - mark);
      list.counts[i] = item.count;
    }
  });
  for (WordTable& table : tables_) table.clear();
  return list;
}

}  // namespace volt
