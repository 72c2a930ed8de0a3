#include "tokenizing/line_encoder.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "base/parallel.hpp"
#include "counting/cuts.hpp"
#include "tokenizing/worker_pool.hpp"

namespace volt {

constexpr size_t kChunk = 64 * 1024;  // a thread takes about this much text at a time

LineEncoder::LineEncoder(const Encoder& encoder, std::vector<uint8_t> allowed, Dropout dropout,
                         unsigned threads, bool documents)
    : encoder_(encoder),
      allowed_(std::move(allowed)),
      dropout_(dropout),
      threads_(threads),
      documents_(documents),
      active_(encoder.tables().names.active(allowed_.empty() ? nullptr : allowed_.data())) {
  if (!allowed_.empty() && allowed_.size() != encoder.size())
    throw std::invalid_argument("`allowed` must have one byte per token");
}

// Call work() on every thread, if there are several chunks.
template <class Work>
void LineEncoder::on_threads(Work&& work) {
  if (threads_ <= 1 || used_chunks_ <= 1) return work();
  if (!crew_) crew_ = std::make_unique<Crew>(threads_);
  crew_->run([&](unsigned) { work(); });
}

// May lines or documents be cut between words, and the parts encoded by themselves? Names may contain
// spaces, dropout numbers the words of a text, and sums of scores go on through a text.
bool LineEncoder::cuts_texts() const {
  const EncodeTables& tables = encoder_.tables();
  return !fuses_words() && active_.longest == 0 && dropout_.probability == 0 &&
         (tables.remembers || tables.matching.restart);
}

// A run of unknown characters may go on from word to word.
bool LineEncoder::fuses_words() const {
  return encoder_.tables().fuse_unknown && encoder_.tables().pretokenizer != Pretokenizer::whitespace;
}

// A line end about kChunk after p, or in a long line a place between two words.
const uint8_t* LineEncoder::line_chunk_end(const uint8_t* p, const uint8_t* end) const {
  if (end - p <= static_cast<ptrdiff_t>(kChunk)) return end;
  const uint8_t* stop = p + kChunk;
  const uint8_t* line_end = next_line_end(stop, end);
  if (line_end - stop <= static_cast<ptrdiff_t>(kChunk) || !cuts_texts()) return line_end;
  return next_cut(encoder_.tables().pretokenizer, p, stop, line_end);
}

LineEncoder::Chunk& LineEncoder::add_chunk(const uint8_t* begin, const uint8_t* end) {
  if (used_chunks_ == chunks_.size()) chunks_.push_back(std::make_unique<Chunk>());
  Chunk& chunk = *chunks_[used_chunks_++];
  chunk.begin = begin;
  chunk.end = end;
  chunk.stops.clear();
  chunk.state = state_;
  chunk.invalid = nullptr;
  chunk.ids.clear();
  chunk.line_ends.clear();
  chunk.printed.clear();
  chunk.after_unknown = std::exchange(after_unknown_, false);  // only the first goes on with a line
  // How the next chunk begins.
  if (!documents_ && end[-1] == '\n')
    state_.next_line();
  else
    state_.line = {false, 0};
  if (!documents_ && dropout_.probability > 0) state_.number += count_line_ends(begin, end);
  return chunk;
}

void LineEncoder::encode_chunk(Chunk& chunk, EncodeWorker& worker) const {
  if ((chunk.invalid = find_invalid_utf8(chunk.begin, chunk.end))) return;
  worker.start(active_, dropout_, chunk.ids, chunk.line_ends, chunk.after_unknown);
  if (!documents_) {
    worker.encode_lines(chunk.begin, chunk.end, chunk.end, chunk.state);
  } else {
    const uint8_t* p = chunk.begin;
    for (const uint8_t* stop : chunk.stops) {
      worker.encode_text(p, stop, chunk.end, true, chunk.state);
      worker.end_line();
      p = stop;
    }
    worker.encode_text(p, chunk.end, chunk.end, true, chunk.state);
  }
  worker.flush();
}

void LineEncoder::add_lines(const uint8_t* data, const uint8_t* stop) {
  for (const uint8_t* p = data; p < stop;) {
    const uint8_t* next = line_chunk_end(p, stop);
    add_chunk(p, next);
    p = next;
  }
}

// Documents that end at `ends`, and after them up to `stop` a part of one, which ends at a cut. A chunk
// is many small documents, or a part of a large one.
void LineEncoder::add_documents(const uint8_t* data, const uint8_t* stop, const std::vector<uint64_t>& ends) {
  const bool cuts = cuts_texts();
  const uint8_t* p = data;
  Chunk* chunk = nullptr;
  const auto extend = [&](const uint8_t* to) {
    if (chunk == nullptr || chunk->end - chunk->begin >= static_cast<ptrdiff_t>(kChunk)) chunk = &add_chunk(p, to);
    chunk->end = to;
    p = to;
  };
  const auto add_text = [&](const uint8_t* end) {
    while (cuts && end - p > static_cast<ptrdiff_t>(kChunk)) {
      extend(next_cut(encoder_.tables().pretokenizer, p, p + kChunk, end));
      chunk = nullptr;
    }
    if (p < end || chunk == nullptr) extend(end);
  };
  for (const uint64_t end : ends) {
    add_text(data + end);
    chunk->stops.push_back(p);
    state_.next_line();
    ++state_.number;
  }
  if (p < stop) add_text(stop);
}

void LineEncoder::encode_chunks() {
  std::atomic<size_t> next{0};
  on_threads([&] {
    WorkerPool::Borrowed worker(encoder_.workers());
    take_tasks(next, used_chunks_, [&](size_t i) { encode_chunk(*chunks_[i], *worker); });
  });
}

// Encode those words of a line longer than the data that are sure; returns how many bytes they are.
size_t LineEncoder::encode_part_of_line(const uint8_t* data, const uint8_t* end) {
  const uint8_t* whole = whole_characters(data, end);
  if (whole == data) return 0;
  const TextState before = state_;
  add_chunk(data, whole);
  state_ = before;
  Chunk& chunk = *chunks_[0];
  if ((chunk.invalid = find_invalid_utf8(data, whole))) return 0;
  WorkerPool::Borrowed worker(encoder_.workers());
  worker->start(active_, dropout_, chunk.ids, chunk.line_ends, chunk.after_unknown);
  const uint8_t* done = worker->encode_text(data, whole, end, false, state_);
  worker->flush();
  after_unknown_ = worker->ends_unknown();
  return done - data;
}

FeedResult LineEncoder::feed(const uint8_t* data, size_t bytes, bool last) {
  FeedResult result;
  used_chunks_ = 0;
  const uint8_t* end = data + bytes;
  const uint8_t* stop = last ? end : documents_ ? data : last_line_end(data, end);
  // A line or document longer than the data: up to its last word.
  if (!last && stop == data && bytes > 0 && cuts_texts()) stop = last_cut(encoder_.tables().pretokenizer, data, end);
  if (documents_ && last) {
    add_documents(data, stop, {bytes});
  } else if (stop > data) {
    documents_ ? add_documents(data, stop, {}) : add_lines(data, stop);
  } else if (!last && bytes > 0) {
    result.consumed = encode_part_of_line(data, end);
  }
  if (last || stop > data) {
    encode_chunks();
    result.consumed = stop - data;
  }
  end_parts(data, result);
  if (result.consumed > 0) line_open_ = data[result.consumed - 1] != '\n';
  unfinished_ = last && line_open_ && !documents_;
  if (last) {
    state_.number += unfinished_;
    state_.next_line();
    line_open_ = line_has_ids_ = after_unknown_ = false;
  }
  return result;
}

FeedResult LineEncoder::feed_documents(const uint8_t* data, const std::vector<uint64_t>& ends) {
  FeedResult result;
  used_chunks_ = 0;
  if (ends.empty()) return result;
  add_documents(data, data + ends.back(), ends);
  encode_chunks();
  result.consumed = ends.back();
  end_parts(data, result);
  return result;
}

// What the chunks say together.
void LineEncoder::end_parts(const uint8_t* data, FeedResult& result) {
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
    throw std::invalid_argument("the table must have one text per token");
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
