// Vocabulary -> ids. Text is cut into words as in counting (but never inside a word), a word is
// spelled in symbols, and neighbours are merged, the lowest rank first, leftmost on a tie.
// volt/reference.py has the slow twin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "count.hpp"

namespace volt {

enum class TokenKind : uint8_t { special, symbol, byte, character, merged };

// Which neighbours may merge: only the two parents of a token, or any two whose texts joined are one.
enum class MergeRule : uint8_t { pairs, concat };

// The tokens of a vocabulary, and behind them the hidden ones, through which it merges but which never
// come out: they are broken up again. Token t is text[offsets[t]..offsets[t+1]): of a special token or
// symbol what it is called, of a byte token its byte, of any other the text it stands for.
struct TokenView {
  const uint8_t* text;
  const uint64_t* offsets;
  const uint8_t* kinds;
  const uint8_t* word_final;  // 1: carries the word-final mark
  const uint32_t* left;       // the parents of a merged token
  const uint32_t* right;
  const uint64_t* ranks;
  size_t size;
  size_t visible;             // how many are not hidden
  uint32_t unknown;           // the token of characters that are not in the vocabulary, or kNoToken
};

constexpr uint32_t kNoToken = 0xFFFFFFFF;

// Ids one after the other. What was appended stays in place until more room is asked for.
class IdBuffer {
 public:
  IdBuffer() = default;
  IdBuffer(const IdBuffer&) = delete;
  IdBuffer& operator=(const IdBuffer&) = delete;
  ~IdBuffer();

  // Room for `more` ids; returns where they go. Then `advance` to one past the last one written.
  uint32_t* room(size_t more) {
    if (more > capacity_ - size_) grow(more);
    return ids_ + size_;
  }
  void advance(const uint32_t* end) { size_ = static_cast<size_t>(end - ids_); }
  void clear() { size_ = 0; }
  size_t size() const { return size_; }
  const uint32_t* data() const { return ids_; }
  // Give the memory away, to be freed by std::free.
  uint32_t* release();

 private:
  void grow(size_t more);
  uint32_t* ids_ = nullptr;
  size_t size_ = 0, capacity_ = 0;
};

// (left, right) -> place of what they make in the order of merges. Open addressing, no removal.
class PairTable {
 public:
  void reserve(size_t pairs);
  void set(uint32_t left, uint32_t right, uint32_t rank);
  uint32_t find(uint32_t left, uint32_t right) const {
    for (size_t i = slot_of(left, right);; i = (i + 1) & mask_) {
      const Slot& slot = slots_[i];
      if (slot.rank == kNoToken || (slot.left == left && slot.right == right)) return slot.rank;
    }
  }

 private:
  struct Slot {
    uint32_t left, right, rank;
  };
  size_t slot_of(uint32_t left, uint32_t right) const {
    const uint64_t key = static_cast<uint64_t>(left) << 32 | right;
    return (key * 0x9E3779B97F4A7C15ull) >> shift_;
  }
  std::vector<Slot> slots_;
  size_t mask_ = 0;
  unsigned shift_ = 0;
};

// Code point -> token, in pages of 256.
class CharacterTable {
 public:
  CharacterTable() : page_of_(0x110000 >> 8, 0), tokens_(256, kNoToken) {}
  uint32_t find(uint32_t code_point) const {
    return tokens_[page_of_[code_point >> 8] + (code_point & 255)];
  }
  // False if the character has a token already.
  bool set(uint32_t code_point, uint32_t token);

 private:
  std::vector<uint32_t> page_of_;  // where the page starts
  std::vector<uint32_t> tokens_;   // the first page is empty
};

// Every possible merge is skipped with this probability at every step (Provilkov et al. 2020).
struct Dropout {
  double probability = 0;
  uint64_t seed = 0;
};

// How text is to be encoded. `allowed`, if not null, has a byte for every visible token: not 0 for a
// special token that the text may contain.
struct EncodeOptions {
  const uint8_t* allowed = nullptr;
  Dropout dropout;
};

class EncodeWorker;

class Encoder {
 public:
  // Throws std::invalid_argument where the tokens contradict each other.
  Encoder(Pretokenizer pretokenizer, MergeRule rule, const TokenView& tokens);
  ~Encoder();
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  size_t size() const { return visible_; }

  // Encode one text, which is valid UTF-8. `line` tells texts apart that are encoded with one seed.
  void encode(const uint8_t* text, size_t bytes, uint64_t line, const EncodeOptions& options,
              IdBuffer& ids) const;

  // Encode word types as they stand in a word list; word w is text[offsets[w]..offsets[w+1]).
  void encode_words(const uint8_t* text, const uint64_t* offsets, size_t words, unsigned threads,
                    std::vector<uint32_t>& ids, std::vector<uint64_t>& id_offsets) const;

 private:
  friend class EncodeWorker;
  struct Borrowed;

  void add_characters(const TokenView& tokens);
  void add_pairs(const TokenView& tokens, MergeRule rule);
  void check_merges(const TokenView& tokens) const;

  Pretokenizer pretokenizer_;
  size_t visible_;
  uint32_t unknown_;
  bool splits_;         // there are hidden tokens
  bool tracks_merges_;  // and which two tokens one was merged from differs from word to word
  CharacterTable characters_, final_characters_;  // byte-level: by byte
  std::vector<uint32_t> byte_tokens_;             // empty if unknown characters are not spelled in bytes
  PairTable pairs_;
  std::vector<uint32_t> made_;         // by place in the order of merges
  std::vector<uint32_t> left_, right_;  // parents

  // Workers keep what they remember from call to call; a call borrows one for each of its threads.
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<EncodeWorker>> idle_;
};

}  // namespace volt
