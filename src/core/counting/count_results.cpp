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
      words.push_back({count, __builtin_bswap64(load(word)), word, bytes});
    });
    std::sort(words.begin(), words.end(), earlier);
    RunWriter writer(paths[i]);
    for (const CountedWord& item : words)
      writer.add({reinterpret_cast<const char*>(item.word), item.bytes}, item.count);
    writer.finish();
    tables_[i].clear();
  });
  return runs;
}

WordList Counter::finish(uint64_t min_count) {
  const unsigned threads = static_cast<unsigned>(tables_.size());
  merge_tables();

  // 1. List the words by count: one bucket per count, the first one for all counts that are higher.
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
  HugeVector<CountedWord> items(tables_[0].size());
  tables_[0].for_each([&](const uint8_t* word, size_t bytes, uint64_t count) {
    if (count < min_count) return;
    uint8_t head[8] = {};
    if (marked(word)) {
      std::memcpy(head, kSpaceMarkText, kSpaceMarkBytes);
      std::memcpy(head + kSpaceMarkBytes, word + 1, std::min(bytes - 1, sizeof head - kSpaceMarkBytes));
    } else {
      std::memcpy(head, word, std::min(bytes, sizeof head));
    }
    items[ends[bucket_of(count)]++] = {count, __builtin_bswap64(load(head)), word, bytes};
  });
  items.resize(ends.back());

  // 2. Sort: highest count first, then bytes. This is a total order, since words are distinct. Of two
  // words with the same first eight bytes either both or none have the mark.
  std::atomic<size_t> next{kBuckets};  // the rare words are in the largest buckets: they come first
  run_parallel(threads, [&](unsigned) {
    for (size_t bucket; (bucket = --next) < kBuckets;)
      std::sort(items.begin() + starts[bucket], items.begin() + ends[bucket],
                [](const CountedWord& a, const CountedWord& b) {
                  return a.count != b.count ? a.count > b.count : earlier(a, b);
                });
  });

  // 3. Write down the most frequent max_types of them.
  if (max_types_ != 0 && items.size() > max_types_) {
    for (size_t i = max_types_; i < items.size(); ++i) totals_.pruned_words += items[i].count;
    items.resize(max_types_);
  }
  WordList list;
  list.offsets.resize(items.size() + 1);
  list.counts.resize(items.size());
  for (size_t i = 0; i < items.size(); ++i)
    list.offsets[i + 1] =
        list.offsets[i] + items[i].bytes + (marked(items[i].word) ? kSpaceMarkBytes - 1 : 0);
  list.text.resize(list.offsets.back());
  run_parallel(threads, [&](unsigned share) {
    for (size_t i = items.size() * share / threads; i < items.size() * (share + 1) / threads; ++i) {
      const CountedWord& item = items[i];
      if (i + 16 < items.size()) __builtin_prefetch(items[i + 16].word);
      uint8_t* out = list.text.data() + list.offsets[i];
      const bool mark = marked(item.word);
      if (mark) out = std::copy_n(kSpaceMarkText, kSpaceMarkBytes, out);
      std::memcpy(out, item.word + mark, item.bytes - mark);
      list.counts[i] = item.count;
    }
  });
  for (WordTable& table : tables_) table.clear();
  return list;
}

}  // namespace volt
