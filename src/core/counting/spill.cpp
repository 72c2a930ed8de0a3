#include "counting/spill.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

#if defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#endif

#include "base/stop.hpp"
#include "counting/word_file.hpp"

namespace volt {
namespace {

constexpr size_t kWriteBuffer = 1 << 18;
constexpr uint64_t kReportEvery = 1 << 16;  // words

File open_file(const std::string& path, const char* mode) {
  std::FILE* file = std::fopen(path.c_str(), mode);
  if (!file) throw FileError(errno, path);
  std::setvbuf(file, nullptr, _IONBF, 0);  // readers and writers have their own buffers
  return File(file);
}

void append_varint(std::string& out, uint64_t number) {
  for (; number >= 0x80; number >>= 7) out += static_cast<char>(number | 0x80);
  out += static_cast<char>(number);
}

}  // namespace

// ---------------------------------------------------------------------------------- write and read

RunWriter::RunWriter(const std::string& path) : path_(path), file_(open_file(path, "wb")) {
  buffer_.reserve(kWriteBuffer + 1024);
}

void RunWriter::add(std::string_view word, uint64_t count) {
  append_varint(buffer_, word.size());
  buffer_ += word;
  append_varint(buffer_, count);
  if (buffer_.size() >= kWriteBuffer) write();
}

void RunWriter::write() {
  if (std::fwrite(buffer_.data(), 1, buffer_.size(), file_.get()) != buffer_.size())
    throw FileError(errno, path_);
  buffer_.clear();
}

void RunWriter::finish() {
  write();
#if defined(__unix__) || defined(__APPLE__)
  if (fsync(fileno(file_.get())) != 0) throw FileError(errno, path_);
#endif
  if (std::fclose(file_.release()) != 0) throw FileError(errno, path_);
}

RunReader::RunReader(const std::string& path, size_t buffer)
    : path_(path), buffer_(std::max<size_t>(buffer, 64), '\0'), file_(open_file(path, "rb")) {}

// Make at least so many bytes available from at_ on, if the file has them.
bool RunReader::fill(size_t bytes) {
  if (end_ - at_ >= bytes) return true;
  std::memmove(buffer_.data(), buffer_.data() + at_, end_ - at_);
  end_ -= at_;
  at_ = 0;
  if (bytes > buffer_.size()) {
    // Grow step by step with what is really there: a damaged length must not take all memory.
    buffer_.resize(std::min(bytes, 2 * buffer_.size()));
  }
  while (end_ < bytes) {
    if (end_ == buffer_.size()) buffer_.resize(std::min(bytes, 2 * buffer_.size()));
    const size_t got = std::fread(buffer_.data() + end_, 1, buffer_.size() - end_, file_.get());
    if (got == 0) {
      if (std::ferror(file_.get())) throw FileError(errno, path_);
      return false;
    }
    end_ += got;
  }
  return true;
}

uint64_t RunReader::number() {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (!fill(1)) break;
    const uint8_t byte = static_cast<uint8_t>(buffer_[at_++]);
    value |= static_cast<uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return value;
  }
  throw std::runtime_error(path_ + ": the run is damaged");
}

bool RunReader::next() {
  if (!fill(1)) return false;
  const uint64_t bytes = number();
  // A count takes at most ten bytes. With them in the buffer, too, reading it does not move the word.
  if (bytes == 0 || bytes > static_cast<uint64_t>(-1) / 4 || (!fill(bytes + 10) && end_ - at_ < bytes))
    throw std::runtime_error(path_ + ": the run is damaged");
  word_ = {buffer_.data() + at_, bytes};
  at_ += bytes;
  count_ = number();
  return true;
}

// ------------------------------------------------------------------------------------------- merge

RunMerge::RunMerge(const std::vector<std::string>& paths, RunOrder order, size_t buffer) : order_(order) {
  for (const std::string& path : paths) {
    auto reader = std::make_unique<RunReader>(path, buffer);
    if (reader->next()) heap_.push_back(std::move(reader));
  }
  std::make_heap(heap_.begin(), heap_.end(),
                 [this](const auto& a, const auto& b) { return later(*a, *b); });
}

// Does a's word come after b's? With equal words it does not matter which run goes first.
bool RunMerge::later(const RunReader& a, const RunReader& b) const {
  if (order_ == RunOrder::counts && a.count() != b.count()) return a.count() < b.count();
  return a.word() > b.word();
}

// Take the next word of the run on top, and put the run where it now belongs.
void RunMerge::advance() {
  if (!heap_.front()->next()) {
    std::swap(heap_.front(), heap_.back());
    heap_.pop_back();
  }
  for (size_t parent = 0;;) {
    size_t child = 2 * parent + 1;
    if (child >= heap_.size()) return;
    if (child + 1 < heap_.size() && later(*heap_[child], *heap_[child + 1])) ++child;
    if (!later(*heap_[parent], *heap_[child])) return;
    std::swap(heap_[parent], heap_[child]);
    parent = child;
  }
}

bool RunMerge::next() {
  if (heap_.empty()) return false;
  const RunReader& first = *heap_.front();
  const int order = first.word().compare(word_);
  const bool late = order_ == RunOrder::words || first.count() == count_ ? order <= 0 : first.count() > count_;
  if (started_ && late)
    throw std::runtime_error(first.path() + ": the run is damaged");
  started_ = true;
  word_.assign(first.word());
  count_ = first.count();
  advance();
  while (order_ == RunOrder::words && !heap_.empty() && heap_.front()->word() == word_) {
    count_ += heap_.front()->count();  // all words together were checked to fit 63 bits
    advance();
  }
  return true;
}

void merge_runs(const std::vector<std::string>& paths, const std::string& target, size_t buffer,
                const RunProgress& progress) {
  RunMerge merge(paths, RunOrder::words, buffer);
  RunWriter writer(target);
  for (uint64_t words = 0; merge.next();) {
    writer.add(merge.word(), merge.count());
    if (++words % kReportEvery == 0) progress(words);
  }
  writer.finish();
}

Ranking rank_runs(const std::vector<std::string>& paths, const std::string& prefix,
                  Pretokenizer pretokenizer, uint64_t min_count, size_t memory, size_t buffer,
                  const RunProgress& progress) {
  struct Item {
    uint64_t count;
    size_t offset, bytes;
  };
  // A third of the memory for the words, two thirds for their list: words of about twelve bytes.
  std::string text;
  std::vector<Item> items;
  const size_t most_text = std::max<size_t>(memory / 3, 1), most_items = std::max<size_t>(memory / 36, 1);
  text.reserve(most_text);
  items.reserve(most_items);

  Ranking ranking;
  std::map<uint64_t, uint64_t, std::greater<>> types_of_count;
  const auto word_of = [&](const Item& item) { return std::string_view(text).substr(item.offset, item.bytes); };
  const auto write = [&] {
    // Highest count first, then bytes: a total order, since words are distinct.
    sort_stoppable(items.begin(), items.end(), [&](const Item& a, const Item& b) {
      return a.count != b.count ? a.count > b.count : word_of(a) < word_of(b);
    });
    ranking.paths.push_back(prefix + std::to_string(ranking.paths.size()));
    RunWriter writer(ranking.paths.back());
    for (const Item& item : items) {
      poll();
      writer.add(word_of(item), item.count);
    }
    writer.finish();
    text.clear();
    items.clear();
  };

  RunMerge merge(paths, RunOrder::words, buffer);
  for (uint64_t words = 0; merge.next();) {
    if (++words % kReportEvery == 0) progress(words);
    if (merge.count() < min_count) continue;
    ++types_of_count[merge.count()];
    const bool marked = pretokenizer == Pretokenizer::metaspace && merge.word()[0] == ' ';
    const size_t bytes = merge.word().size() + (marked ? kSpaceMarkBytes - 1 : 0);
    if (!items.empty() && (items.size() == most_items || text.size() + bytes > most_text)) write();
    items.push_back({merge.count(), text.size(), bytes});
    if (marked) text.append(reinterpret_cast<const char*>(kSpaceMarkText), kSpaceMarkBytes);
    text.append(merge.word(), marked, std::string::npos);
  }
  if (!items.empty()) write();
  for (const auto& [count, types] : types_of_count) {
    ranking.counts.push_back(count);
    ranking.types.push_back(types);
  }
  return ranking;
}

std::string RankedLines::next(size_t bytes) {
  std::string lines;
  lines.reserve(bytes + 1024);
  for (; lines.size() < bytes && left_ > 0 && merge_.next(); --left_) {
    poll();
    const auto* word = reinterpret_cast<const uint8_t*>(merge_.word().data());
    append_word(lines, word, word + merge_.word().size(), merge_.count());
  }
  return lines;
}

}  // namespace volt
