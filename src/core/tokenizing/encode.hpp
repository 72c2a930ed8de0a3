// Vocabulary -> ids. Text is cut into words as in counting (but long words are not cut); each word is
// encoded by itself, by merging or by looking tokens up. volt.reference.encode has the slow twin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tokenizing/dropout.hpp"
#include "tokenizing/encode_tables.hpp"
#include "tokenizing/id_buffer.hpp"

namespace volt {

// How text is to be encoded. `allowed`, if not null, has one byte per visible token: not 0 for a
// special token that the text may contain.
struct EncodeOptions {
  const uint8_t* allowed = nullptr;
  Dropout dropout;
};

struct TextView {
  const uint8_t* text;
  size_t bytes;
};

class WorkerPool;

class Encoder {
 public:
  // Throws std::invalid_argument where the tokens contradict each other.
  Encoder(Pretokenizer pretokenizer, MergeRule rule, const Matching& matching, const TokenView& tokens);
  ~Encoder();
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  size_t size() const { return tables_.visible; }
  bool bytes_only() const { return tables_.bytes_only(); }
  const EncodeTables& tables() const { return tables_; }
  WorkerPool& workers() const { return *workers_; }

  // Encode texts of valid UTF-8, the first of which is line `number`. Text t becomes
  // ids[ends[t-1]..ends[t]).
  void encode(const TextView* texts, size_t size, uint64_t number, const EncodeOptions& options,
              unsigned threads, IdBuffer& ids, std::vector<uint64_t>& ends) const;

  // How many ids a text of valid UTF-8 has.
  size_t count(const TextView& text, const uint8_t* allowed) const;

  // Encode word types as they are spelled in a word list; word w is text[offsets[w]..offsets[w+1]).
  void encode_words(const uint8_t* text, const uint64_t* offsets, size_t words, unsigned threads,
                    std::vector<uint32_t>& ids, std::vector<uint64_t>& id_offsets) const;

 private:
  const EncodeTables tables_;
  const std::unique_ptr<WorkerPool> workers_;
};

}  // namespace volt
