// Word counts on disk, for when the types outgrow memory. A table that is full is written as a sorted
// run; runs are merged a buffer at a time. volt/counting/spill.py says when.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "counting/pretokenizer.hpp"

namespace volt {

// A file that can't be written or read: errno, and its path.
struct FileError : std::runtime_error {
  FileError(int number, const std::string& file) : std::runtime_error(file), code(number), path(file) {}
  int code;
  std::string path;
};

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

// A run: per word its length, its bytes and its count. Numbers are written in seven bits per byte, the
// lowest first.
class RunWriter {
 public:
  explicit RunWriter(const std::string& path);
  void add(std::string_view word, uint64_t count);
  // Afterwards all of it is on the disk.
  void finish();

 private:
  void write();

  std::string path_, buffer_;
  File file_;
};

class RunReader {
 public:
  RunReader(const std::string& path, size_t buffer);
  // The next word; false at the end of the run. A run that ends inside a word throws runtime_error.
  bool next();
  std::string_view word() const { return word_; }
  uint64_t count() const { return count_; }
  const std::string& path() const { return path_; }

 private:
  bool fill(size_t bytes);
  uint64_t number();

  std::string path_, buffer_;
  size_t at_ = 0, end_ = 0;
  File file_;
  std::string_view word_;
  uint64_t count_ = 0;
};

enum class RunOrder : uint8_t {
  words,   // by bytes; a word may be in several runs, and its counts are summed
  counts,  // highest first, then by bytes; a word is in one run only
};

class RunMerge {
 public:
  RunMerge(const std::vector<std::string>& paths, RunOrder order, size_t buffer);
  RunMerge(const RunMerge&) = delete;
  RunMerge& operator=(const RunMerge&) = delete;
  bool next();
  const std::string& word() const { return word_; }
  uint64_t count() const { return count_; }

 private:
  bool later(const RunReader& a, const RunReader& b) const;
  void advance();

  RunOrder order_;
  std::vector<std::unique_ptr<RunReader>> heap_;  // the next word on top
  std::string word_;
  uint64_t count_ = 0;
  bool started_ = false;
};

using RunProgress = std::function<void(uint64_t words)>;

// Several runs sorted by word become one.
void merge_runs(const std::vector<std::string>& paths, const std::string& target, size_t buffer,
                const RunProgress& progress);

// Runs sorted by word become runs sorted by count, with words spelled as in a counts file. Words rarer
// than min_count are left out. Also returns how many types have which count, highest first.
struct Ranking {
  std::vector<std::string> paths;
  std::vector<uint64_t> counts, types;
};
Ranking rank_runs(const std::vector<std::string>& paths, const std::string& prefix,
                  Pretokenizer pretokenizer, uint64_t min_count, size_t memory, size_t buffer,
                  const RunProgress& progress);

// The first `limit` words of runs sorted by count, as the lines of a counts file.
class RankedLines {
 public:
  RankedLines(const std::vector<std::string>& paths, uint64_t limit, size_t buffer)
      : merge_(paths, RunOrder::counts, buffer), left_(limit) {}
  // About so many bytes of whole lines; none at the end.
  std::string next(size_t bytes);

 private:
  RunMerge merge_;
  uint64_t left_;
};

}  // namespace volt
