#include "counting/count.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <stdexcept>

#include "base/parallel.hpp"
#include "base/unicode.hpp"
#include "counting/bounded_words.hpp"
#include "counting/cuts.hpp"
#include "counting/scan.hpp"

namespace volt {
namespace {

constexpr size_t kSegment = 256 * 1024;  // validate and scan this much at a time, to stay in the cache
// Counting less than this takes less time than starting threads, which would be most of the time for a
// million small files.
constexpr size_t kWorthThreads = 16 * 1024;

// Puts the words of a scanner into a table, and cuts those that are too long.
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
  // The space that metaspace puts before a line is not in the text: copy the word with a space.
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

// Scan whole lines; the last may lack its line end.
void scan_lines(Pretokenizer pretokenizer, const uint8_t* p, const uint8_t* end, LineState& state,
                std::vector<uint64_t>& bounds, TableSink& sink) {
  // Line ends are nothing special to whitespace.
  const bool lines = pretokenizer != Pretokenizer::whitespace;
  const bool in_line = !state.at_start || state.continuing;  // only the scanners can go on from there
  if (!in_line && find_boundaries(pretokenizer, p, end, lines, bounds))
    return lines ? take_bounded_words<LineEnds::trimmed>(pretokenizer, p, end, bounds, state.at_start, sink)
                 : take_bounded_words<LineEnds::none>(pretokenizer, p, end, bounds, state.at_start, sink);
  while (p < end) {
    const uint8_t* next = next_line_end(p, end);
    const uint8_t* line_end = next;
    if (line_end > p && line_end[-1] == '\n') {
      --line_end;
      if (line_end > p && line_end[-1] == '\r') --line_end;
    }
    scan_words(pretokenizer, p, line_end, state, true, sink.max_length, sink);
    state = LineState{};
    p = next;
  }
}

// Scan a document, or a part of it between two cuts.
void scan_text(Pretokenizer pretokenizer, const uint8_t* p, const uint8_t* end, LineState& state,
               std::vector<uint64_t>& bounds, TableSink& sink) {
  if (!state.continuing && find_boundaries(pretokenizer, p, end, false, bounds))
    take_bounded_words<LineEnds::none>(pretokenizer, p, end, bounds, state.at_start, sink);
  else
    scan_words(pretokenizer, p, end, state, true, sink.max_length, sink);
}

}  // namespace

Counter::Counter(Pretokenizer pretokenizer, uint32_t max_word_length, unsigned threads,
                 uint64_t max_types, bool documents)
    : pretokenizer_(pretokenizer), max_word_length_(max_word_length), max_types_(max_types),
      documents_(documents), tables_(std::max(1u, threads)) {
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
  const uint8_t* stop = end;
  if (!last) stop = documents_ ? last_cut(pretokenizer_, data, end) : last_line_end(data, end);
  if (stop > data)
    count_whole(data, stop, end, {static_cast<uint64_t>(stop - data)}, false, weight, result);
  else if (!last)
    count_part_of_line(data, end, weight, result);
  if (last) state_ = LineState{};
  between_texts_ = last || stop > data;
  if (result.invalid_at < 0) limit_types();
  return result;
}

FeedResult Counter::feed_documents(const uint8_t* data, const std::vector<uint64_t>& ends, uint64_t weight) {
  FeedResult result;
  if (ends.empty()) return result;
  const uint8_t* end = data + ends.back();
  count_whole(data, end, end, ends, true, weight, result);
  // A last line without a line end.
  uint64_t begin = 0;
  for (const uint64_t stop : ends) {
    if (result.invalid_at < 0 && stop > begin && data[stop - 1] != '\n') ++result.lines;
    begin = stop;
  }
  if (result.invalid_at < 0) limit_types();
  return result;
}

const uint8_t* Counter::cut_after(const uint8_t* begin, const uint8_t* p, const uint8_t* end) const {
  return documents_ ? next_cut(pretokenizer_, begin, p, end) : next_line_end(p, end);
}

// Count texts that are complete, or end at a cut. `ends` of documents, in bytes from data on. Where lines
// are read, `items` end like lines: a CR at the end does not count.
void Counter::count_whole(const uint8_t* data, const uint8_t* end, const uint8_t* readable,
                          const std::vector<uint64_t>& ends, bool items, uint64_t weight, FeedResult& result) {
  const unsigned threads = static_cast<unsigned>(tables_.size());
  // One past p, where the document that p is in ends.
  const auto document_end = [&](const uint8_t* p) {
    return data + *std::upper_bound(ends.begin(), ends.end(), static_cast<uint64_t>(p - data));
  };
  std::vector<const uint8_t*> bounds{data};
  for (unsigned i = 1; i < threads; ++i) {
    const uint8_t* p = data + (end - data) * i / threads;
    if (p < end) p = cut_after(data, p, document_end(p));
    bounds.push_back(std::max(bounds.back(), p));
  }
  bounds.push_back(end);

  std::vector<const uint8_t*> invalid(threads, nullptr);
  std::vector<TableSink> sinks;
  std::vector<uint64_t> line_counts(threads, 0);
  for (WordTable& table : tables_) sinks.push_back({table, readable, max_word_length_, weight});
  const auto count_share = [&](unsigned i) {
    LineState state = i == 0 ? state_ : LineState{};
    std::vector<uint64_t> word_bounds;
    PollEvery pace(kSegment);
    for (const uint8_t* p = bounds[i]; p < bounds[i + 1];) {
      const uint8_t* whole = document_end(p);
      const uint8_t* stop = std::min(bounds[i + 1], whole);
      if (stop - p > static_cast<ptrdiff_t>(kSegment)) stop = cut_after(p, p + kSegment, stop);
      if ((invalid[i] = find_invalid_utf8(p, stop))) return;
      line_counts[i] += count_line_ends(p, stop);
      const bool trims = items && !documents_ && stop == whole && stop[-1] == '\r';
      (documents_ ? scan_text : scan_lines)(pretokenizer_, p, stop - trims, state, word_bounds, sinks[i]);
      state = LineState{};
      pace.done(stop - p);
      p = stop;
    }
    tables_[i].flush();
  };
  if (readable - data >= static_cast<ptrdiff_t>(kWorthThreads))
    run_parallel(threads, count_share);
  else
    for (unsigned i = 0; i < threads; ++i) count_share(i);
  for (unsigned i = 0; i < threads; ++i) {
    if (invalid[i] && result.invalid_at < 0) result.invalid_at = invalid[i] - data;
    add_totals(sinks[i].words, sinks[i].cut_words, sinks[i].reserved_marks, weight);
    result.lines += line_counts[i];
  }
  state_ = LineState{};
  result.consumed = end - data;
}

// The line is longer than the data: take those words of it that surely end here.
void Counter::count_part_of_line(const uint8_t* data, const uint8_t* end, uint64_t weight,
                                 FeedResult& result) {
  const uint8_t* stop = whole_characters(data, end);
  if (const uint8_t* invalid = find_invalid_utf8(data, stop)) {
    result.invalid_at = invalid - data;
    return;
  }
  TableSink sink{tables_[0], end, max_word_length_, weight};
  result.consumed = scan_words(pretokenizer_, data, stop, state_, false, max_word_length_, sink) - data;
  result.lines = count_line_ends(data, data + result.consumed);
  tables_[0].flush();
  add_totals(sink.words, sink.cut_words, sink.reserved_marks, weight);
}

void Counter::add(std::string_view word, uint64_t count) {
  add_totals(count, 0, 0, 1);
  const uint8_t* p = reinterpret_cast<const uint8_t*>(word.data());
  if (pretokenizer_ == Pretokenizer::metaspace && starts_with_mark(p, p + word.size())) {
    const std::string spelled = " " + std::string(word.substr(kSpaceMarkBytes));  // as in the tables
    tables_[0].add(reinterpret_cast<const uint8_t*>(spelled.data()), spelled.size(), count);
  } else {
    tables_[0].add(p, word.size(), count);
  }
  tables_[0].flush();
}

void Counter::merge_tables() {
  for (size_t i = 1; i < tables_.size(); ++i) {
    if (tables_[i].size() == 0) continue;
    tables_[i].for_each([&](const uint8_t* word, size_t bytes, uint64_t count) {
      poll();
      tables_[0].add(word, bytes, count);
    });
    tables_[0].flush();
    tables_[i].clear();
  }
}

// Lossy counting with a bound on the table. When it has more than max_types words, the rarest go, all
// of one count together, until three quarters of the bound remain. Only the words seen so far decide,
// not the number of threads.
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
  // Words that are all equally rare would all go; there is still room to wait.
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

}  // namespace volt
