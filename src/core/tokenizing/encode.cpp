#include "tokenizing/encode.hpp"

#include <algorithm>
#include <atomic>

#include "base/parallel.hpp"
#include "tokenizing/worker_pool.hpp"

namespace volt {

constexpr size_t kChunk = 64 * 1024;  // a thread takes about this much text at a time

Encoder::Encoder(Pretokenizer pretokenizer, MergeRule rule, const Matching& matching, const TokenView& tokens)
    : tables_(pretokenizer, rule, matching, tokens), workers_(std::make_unique<WorkerPool>(tables_)) {}

Encoder::~Encoder() = default;

void Encoder::encode(const TextView* texts, size_t size, uint64_t number, const EncodeOptions& options,
                     unsigned threads, IdBuffer& ids, std::vector<uint64_t>& ends) const {
  const NameTable::Active active = tables_.names.active(options.allowed);
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
    WorkerPool::Borrowed worker(*workers_);
    return encode_range(*worker, 0, size, ids, ends);
  }

  // 1. Cut the list into parts of about kChunk bytes.
  std::vector<size_t> bounds{0};
  for (size_t t = 0, bytes = 0; t < size; ++t) {
    bytes += texts[t].bytes + 16;
    if (bytes >= kChunk || t + 1 == size) {
      bounds.push_back(t + 1);
      bytes = 0;
    }
  }
  // 2. Encode them.
  const size_t parts = bounds.size() - 1;
  std::vector<IdBuffer> part_ids(parts);
  std::vector<std::vector<uint64_t>> part_ends(parts);
  std::atomic<size_t> next{0};
  run_parallel(static_cast<unsigned>(std::min<size_t>(threads, parts)), [&](unsigned) {
    WorkerPool::Borrowed worker(*workers_);
    take_tasks(next, parts, [&](size_t part) {
      encode_range(*worker, bounds[part], bounds[part + 1], part_ids[part], part_ends[part]);
    });
  });
  // 3. Put the parts one after the other.
  for (size_t part = 0; part < parts; ++part) {
    const size_t before = ids.size();
    uint32_t* out = ids.room(part_ids[part].size());
    ids.advance(std::copy_n(part_ids[part].data(), part_ids[part].size(), out));
    for (const uint64_t end : part_ends[part]) ends.push_back(before + end);
  }
}

size_t Encoder::count(const TextView& text, const uint8_t* allowed) const {
  IdBuffer ids;
  std::vector<uint64_t> ends;
  if (tables_.fuse_unknown) {  // then a word may add less than it has by itself
    encode(&text, 1, 0, {allowed, {}}, 1, ids, ends);
    return ids.size();
  }
  const NameTable::Active active = tables_.names.active(allowed);
  WorkerPool::Borrowed worker(*workers_);
  worker->start_counting(active, ids, ends);
  TextState state;
  const uint8_t* end = text.text + text.bytes;
  worker->encode_text(text.text, end, end, true, state);
  worker->flush();
  return worker->counted();
}

// A word in which every mark is a space.
static std::vector<uint8_t> with_spaces(const uint8_t* p, const uint8_t* end) {
  std::vector<uint8_t> out;
  while (p < end) {
    const bool mark = starts_with_mark(p, end);
    out.push_back(mark ? ' ' : *p);
    p += mark ? kSpaceMarkBytes : 1;
  }
  return out;
}

void Encoder::encode_words(const uint8_t* text, const uint64_t* offsets, size_t words, unsigned threads,
                           std::vector<uint32_t>& ids, std::vector<uint64_t>& id_offsets) const {
  // 1. Each thread encodes a part of the words, all parts with about the same number of bytes.
  threads = static_cast<unsigned>(std::clamp<size_t>(words / 1024, 1, std::max(1u, threads)));
  std::vector<size_t> bounds{0};
  for (unsigned i = 1; i < threads; ++i)
    bounds.push_back(std::lower_bound(offsets + bounds.back(), offsets + words,
                                      offsets[words] / threads * i) - offsets);
  bounds.push_back(words);
  id_offsets.resize(words + 1);
  std::vector<IdBuffer> parts(threads);
  run_parallel(threads, [&](unsigned i) {
    WorkerPool::Borrowed worker(*workers_);
    std::vector<uint8_t> spaced;
    for (size_t w = bounds[i]; w < bounds[i + 1]; ++w) {
      poll();
      const uint8_t *word = text + offsets[w], *end = text + offsets[w + 1];
      // The mark at the start of a word is a space; where words may have several, every mark is.
      if (tables_.keeps_runs()) {
        spaced = with_spaces(word, end);
        word = spaced.data();
        end = word + spaced.size();
      }
      const bool prefix = tables_.pretokenizer == Pretokenizer::metaspace && starts_with_mark(word, end);
      if (prefix) word += kSpaceMarkBytes;
      uint32_t* out = parts[i].room(end - word + prefix);
      parts[i].advance(worker->encode_single_word(prefix, word, end - word, out));
      id_offsets[w + 1] = parts[i].size();
    }
  });

  // 2. Put the parts one after the other.
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
