#include "encode.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "encode_worker.hpp"
#include "parallel.hpp"

namespace volt {

constexpr size_t kChunk = 64 * 1024;         // a thread takes about this much text at a time

Encoder::~Encoder() = default;

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
