// Encodes files that are fed in parts, line by line or document by document. A line is everything up to
// LF. In a document line ends are text like any other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/crew.hpp"
#include "tokenizing/encode.hpp"
#include "tokenizing/encode_worker.hpp"

namespace volt {

// What each token looks like in a line of output: token t is text[offsets[t]..offsets[t+1]).
struct PrintTable {
  std::vector<uint8_t> text;
  std::vector<uint64_t> offsets;
};

class LineEncoder {
 public:
  LineEncoder(const Encoder& encoder, std::vector<uint8_t> allowed, Dropout dropout, unsigned threads,
              bool documents = false);
  LineEncoder(const LineEncoder&) = delete;
  LineEncoder& operator=(const LineEncoder&) = delete;

  // Encode the next part of a file. Call until all is consumed, with `last` for the last part. The ids
  // of the part before are gone unless they were collected.
  FeedResult feed(const uint8_t* data, size_t bytes, bool last);
  // Encode whole documents. `ends` do not descend; the last is the size of the data.
  FeedResult feed_documents(const uint8_t* data, const std::vector<uint64_t>& ends);

  // Did the file end in a line without a line end? Documents always end.
  bool unfinished() const { return unfinished_; }

  // The last part as lines of tokens, separated by spaces.
  std::vector<uint8_t> print(const PrintTable& table);

  // Keep the ids of the last part, and hand over all that were kept: ids, and where each line or
  // document ends, counted in ids from the very first one.
  void collect();
  IdBuffer& collected() { return collected_; }
  std::vector<uint64_t>& line_ends() { return line_ends_; }

 private:
  struct Chunk {
    const uint8_t *begin, *end;
    std::vector<const uint8_t*> stops;  // where documents end in it
    TextState state;
    const uint8_t* invalid;
    IdBuffer ids;
    std::vector<uint64_t> line_ends;
    bool in_line;        // its first id comes after another in the same line
    bool after_unknown;  // and that one is the unknown one
    std::vector<uint8_t> printed;
  };

  bool cuts_texts() const;
  bool fuses_words() const;
  const uint8_t* line_chunk_end(const uint8_t* p, const uint8_t* end) const;
  Chunk& add_chunk(const uint8_t* begin, const uint8_t* end);
  void add_lines(const uint8_t* data, const uint8_t* stop);
  void add_documents(const uint8_t* data, const uint8_t* stop, const std::vector<uint64_t>& ends);
  void encode_chunks();
  void end_parts(const uint8_t* data, FeedResult& result);
  size_t encode_part_of_line(const uint8_t* data, const uint8_t* end);
  void encode_chunk(Chunk& chunk, EncodeWorker& worker) const;
  template <class Work>
  void on_threads(Work&& work);
  static void print_chunk(Chunk& chunk, const PrintTable& table);

  const Encoder& encoder_;
  const std::vector<uint8_t> allowed_;
  const Dropout dropout_;
  const unsigned threads_;
  const bool documents_;
  const NameTable::Active active_;

  std::unique_ptr<Crew> crew_;
  std::vector<std::unique_ptr<Chunk>> chunks_;  // their memory is used again
  size_t used_chunks_ = 0;
  TextState state_;
  bool line_open_ = false;     // text since the last line end
  bool line_has_ids_ = false;  // and ids
  bool after_unknown_ = false; // the last of them is the unknown one
  bool unfinished_ = false;    // the file ended without a line end
  uint64_t total_ = 0;         // ids collected, including those handed over
  IdBuffer collected_;
  std::vector<uint64_t> line_ends_;
};

}  // namespace volt
