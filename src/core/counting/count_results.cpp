// What a counter gives: a sorted list of words, or sorted runs on disk.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/parallel.hpp"
#include "counting/count.hpp"
#include "counting/spill.hpp"

namespace volt {
namespace {

// A word in a table, where a space is not yet spelled as the mark.
struct CountedWord {
  uint64_t count;
  uint64_t prefix;  // the first eight bytes, to compare as one number
  const uint8_t* word;
  size_t bytes;
};

// By bytes. Words with the same first eight bytes are compared in full.
bool earlier(const CountedWord& a, const CountedWord& b) {
  if (a.prefix != b.prefix) return a.prefix < b.prefix;
  const int order = std::memcmp(a.word, b.word, std::min(a.bytes, b.bytes));
  return order != 0 ? order < 0 : a.bytes < b.bytes;
}

// The first eight bytes of a word, spelled as in a word list: with the mark for a space, if `marked`.
uint64_t spelled_prefix(const uint8_t* word, size_t bytes, bool marked) {
  uint8_t head[8] = {};
  const size_t mark = marked ? kSpaceMarkBytes : 0;
  if (marked) std::memcpy(head, kSpaceMarkText, kSpaceMarkBytes);
  std::memcpy(head + mark, word + marked, std::min(bytes - marked, sizeof head - mark));
  return __builtin_bswap64(load(head));
}

// Highest count first, then by bytes as in a word list. This is a total order, since words are distinct.
HugeVector<CountedWord> sorted_words(const WordTable& table, uint64_t min_count, bool marks_spaces,
                                     unsigned threads) {
  // 1. List the words by count: one bucket per count, the first one for all counts that are higher.
  constexpr uint64_t kBuckets = 1 << 12;
  const auto bucket_of = [](uint64_t count) { return kBuckets - 1 - std::min(count, kBuckets - 1); };
  std::vector<size_t> ends(kBuckets, 0);
  table.for_each([&](const uint8_t*, size_t, uint64_t count) {
    if (count >= min_count) ++ends[bucket_of(count)];
  });
  std::vector<size_t> starts(kBuckets, 0);
  for (size_t bucket = 1; bucket < kBuckets; ++bucket) starts[bucket] = starts[bucket - 1] + ends[bucket - 1];
  ends = starts;
  HugeVector<CountedWord> words(table.size());
  table.for_each([&](const uint8_t* word, size_t bytes, uint64_t count) {
    poll();
    if (count < min_count) return;
    const uint64_t prefix = spelled_prefix(word, bytes, marks_spaces && *word == ' ');
    words[ends[bucket_of(count)]++] = {count, prefix, word, bytes};
  });
  words.resize(ends.back());

  // 2. Sort the buckets. Of two words with the same first eight bytes either both or none have the mark,
  // so that they can be compared as they are in the table.
  std::atomic<size_t> next{kBuckets};  // the rare words are in the largest buckets: they come first
  run_parallel(threads, [&](unsigned) {
    for (size_t bucket; (bucket = --next) < kBuckets;)
      sort_stoppable(words.begin() + starts[bucket], words.begin() + ends[bucket],
                     [](const CountedWord& a, const CountedWord& b) {
                       return a.count != b.count ? a.count > b.count : earlier(a, b);
                     });
  });
  return words;
}

WordList write_list(const HugeVector<CountedWord>& words, bool marks_spaces, unsigned threads) {
  WordList list;
  list.offsets.resize(words.size() + 1);
  list.counts.resize(words.size());
  const auto marked = [marks_spaces](const CountedWord& item) { return marks_spaces && *item.word == ' '; };
  for (size_t i = 0; i < words.size(); ++i)
    list.offsets[i + 1] = list.offsets[i] + words[i].bytes + (marked(words[i]) ? kSpaceMarkBytes - 1 : 0);
  list.text.resize(list.offsets.back());
  run_parallel(threads, [&](unsigned share) {
    for (size_t i = words.size() * share / threads; i < words.size() * (share + 1) / threads; ++i) {
      poll();
      const CountedWord& item = words[i];
      if (i + 16 < words.size()) __builtin_prefetch(words[i + 16].word);
      uint8_t* out = list.text.data() + list.offsets[i];
      const bool mark = marked(item);
      if (mark) out = std::copy_n(kSpaceMarkText, kSpaceMarkBytes, out);
      std::memcpy(out, item.word + mark, item.bytes - mark);
      list.counts[i] = item.count;
    }
  });
  return list;
}

}  // namespace

size_t Counter::memory(size_t text_bytes) const {
  size_t bytes = 0;
  for (const WordTable& table : tables_)
    bytes += table.memory(text_bytes / tables_.size()) +
             (table.size() + text_bytes / tables_.size() / 4) * sizeof(CountedWord);
  return bytes;
}

size_t Counter::spill(const std::string& prefix) {
  std::vector<std::string> paths(tables_.size());
  size_t runs = 0;
  for (size_t i = 0; i < tables_.size(); ++i)
    if (tables_[i].size() > 0) paths[i] = prefix + std::to_string(runs++);
  run_parallel(static_cast<unsigned>(tables_.size()), [&](unsigned i) {
    if (paths[i].empty()) return;
    HugeVector<CountedWord> words;
    words.reserve(tables_[i].size());
    tables_[i].for_each([&](const uint8_t* word, size_t bytes, uint64_t count) {
      poll();
      words.push_back({count, __builtin_bswap64(load(word)), word, bytes});
    });
    sort_stoppable(words.begin(), words.end(), earlier);
    RunWriter writer(paths[i]);
    for (const CountedWord& item : words) {
      poll();
      writer.add({reinterpret_cast<const char*>(item.word), item.bytes}, item.count);
    }
    writer.finish();
    tables_[i].clear();
  });
  return runs;
}

WordList Counter::finish(uint64_t min_count) {
  merge_tables();
  const bool marks_spaces = pretokenizer_ == Pretokenizer::metaspace;
  const unsigned threads = static_cast<unsigned>(tables_.size());
  HugeVector<CountedWord> words = sorted_words(tables_[0], min_count, marks_spaces, threads);
  if (max_types_ != 0 && words.size() > max_types_) {
    for (size_t i = max_types_; i < words.size(); ++i) totals_.pruned_words += words[i].count;
    words.resize(max_types_);
  }
  WordList list = write_list(words, marks_spaces, threads);
  for (WordTable& table : tables_) table.clear();
  return list;
}

}  // namespace volt
