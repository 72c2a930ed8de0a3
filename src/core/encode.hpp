// Vocabulary -> ids. Text is cut into words as in counting (but never inside a word), a word is
// spelled in symbols, and neighbours are merged, the lowest rank first, leftmost on a tie; or tokens are
// looked up in the word (match.hpp). volt/reference.py has the slow twin.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "count.hpp"
#include "crew.hpp"
#include "match.hpp"
#include "pair_table.hpp"

namespace volt {

enum class TokenKind : uint8_t { special, symbol, byte, character, merged, piece };

// Which neighbours may merge: only the two parents of a token, or any two whose texts joined are one.
enum class MergeRule : uint8_t { pairs, concat };

// The tokens of a vocabulary, and behind them the hidden ones, through which it merges but which never
// come out: they are broken up again. Token t is text[offsets[t]..offsets[t+1]): of a special token or
// symbol what it is called, of a byte token its byte, of any other the text it stands for.
struct TokenView {
  const uint8_t* text;
  const uint64_t* offsets;
  const uint8_t* kinds;
  const uint8_t* marks;       // 1: carries the mark of a word's end, 2: that of its start
  const uint32_t* left;       // the parents of a merged token
  const uint32_t* right;
  const uint64_t* ranks;
  const double* scores;       // unigram
  size_t size;
  size_t visible;             // how many are not hidden
  uint32_t unknown;           // the token of characters that are not in the vocabulary, or kNoToken
  bool fuse_unknown;          // a run of unknown characters is one token
};

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

// The names of special tokens and symbols, as a tree of bytes.
class NameTable {
 public:
  struct Match {
    const uint8_t *begin, *end;
    uint32_t token;  // kNoToken: none
  };
  void add(const uint8_t* name, size_t bytes, uint32_t token, bool always);
  // Which names count: those of symbols always, a special token's where `allowed` is not 0.
  struct Active {
    const uint8_t* allowed = nullptr;
    size_t longest = 0;  // bytes; 0: none counts
    std::array<bool, 256> starts{};
  };
  Active active(const uint8_t* allowed) const;
  // The first name that starts in [p, limit), the longest one there; it ends at or before `end`.
  Match find(const uint8_t* p, const uint8_t* limit, const uint8_t* end, const Active& active) const;

 private:
  struct Name {
    uint32_t token;
    size_t bytes;
    uint8_t first;
    bool always;
  };
  std::vector<Name> names_;
  std::vector<uint32_t> name_at_{kNoToken};  // by node: place in names_
  PairTable next_;                           // (node, byte) -> node
};

// Every possible merge is skipped with this probability at every step (Provilkov et al. 2020). The
// draws of a word depend on the seed, the number of its line and its own number in the line.
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

// Where a text stands that is encoded in parts.
struct TextState {
  LineState line;
  uint64_t number = 0;  // of the line
  uint64_t words = 0;   // of the line so far
  double score = 0;     // unigram: sum so far
};

struct TextView {
  const uint8_t* text;
  size_t bytes;
};

class EncodeWorker;

class Encoder {
 public:
  // Throws std::invalid_argument where the tokens contradict each other.
  Encoder(Pretokenizer pretokenizer, MergeRule rule, const Matching& matching, const TokenView& tokens);
  ~Encoder();
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  size_t size() const { return visible_; }
  bool bytes_only() const { return is_byte_level(pretokenizer_); }

  // Encode texts of valid UTF-8, the first of which is line `number`. Text t becomes
  // ids[ends[t-1]..ends[t]).
  void encode(const TextView* texts, size_t size, uint64_t number, const EncodeOptions& options,
              unsigned threads, IdBuffer& ids, std::vector<uint64_t>& ends) const;

  // Encode word types as they stand in a word list; word w is text[offsets[w]..offsets[w+1]).
  void encode_words(const uint8_t* text, const uint64_t* offsets, size_t words, unsigned threads,
                    std::vector<uint32_t>& ids, std::vector<uint64_t>& id_offsets) const;

 private:
  friend class EncodeWorker;
  friend class LineEncoder;
  struct Borrowed;

  void add_characters(const TokenView& tokens);
  void add_pieces(const TokenView& tokens);
  void add_whole_words(const TokenView& tokens);
  void add_pairs(const TokenView& tokens, MergeRule rule);
  void check_merges(const TokenView& tokens) const;
  void make_square(const TokenView& tokens);
  uint32_t find_first(uint32_t left, uint32_t right) const {
    const uint32_t a = left - first_character_, b = right - first_character_;
    return a < square_side_ && b < square_side_ ? square_[a * square_side_ + b] : pairs_.find(left, right);
  }

  Pretokenizer pretokenizer_;
  Matching matching_;
  PieceTable pieces_;
  bool marks_end_;  // the last character of a word has a mark
  size_t visible_;
  uint32_t unknown_;
  bool fuse_unknown_;
  bool remembers_;      // what a word becomes does not depend on those before it
  bool tracks_merges_;  // which two tokens a hidden one was merged from differs from word to word
  CharacterTable characters_, final_characters_;  // byte-level: by byte
  std::vector<uint32_t> byte_tokens_;             // empty if unknown characters are not spelled in bytes
  NameTable names_;
  PairTable pairs_;                     // two tokens -> place of what they make in the order of merges
  std::vector<uint32_t> made_;          // by place in the order of merges
  // The same for two characters, as a square, if they are not many and their ids follow each other:
  // a word starts with a look-up for every two neighbours.
  uint32_t first_character_ = 0, square_side_ = 0;
  std::vector<uint32_t> square_;
  std::vector<uint32_t> left_, right_;  // parents

  // Workers keep what they remember from call to call; a call borrows one for each of its threads.
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<EncodeWorker>> idle_;
  mutable size_t workers_ = 0;
};

// What each token looks like in a line of output: token t is text[offsets[t]..offsets[t+1]).
struct PrintTable {
  std::vector<uint8_t> text;
  std::vector<uint64_t> offsets;
};

// Encodes a file line by line, fed in parts. A line is all up to LF.
class LineEncoder {
 public:
  LineEncoder(const Encoder& encoder, std::vector<uint8_t> allowed, Dropout dropout, unsigned threads);
  LineEncoder(const LineEncoder&) = delete;
  LineEncoder& operator=(const LineEncoder&) = delete;

  // Encode the next part of a file. Call until all is consumed; `last` when the file ends with this
  // part. What the part before gave is gone unless it was collected.
  FeedResult feed(const uint8_t* data, size_t bytes, bool last);

  // Did the file end in a line without a line end?
  bool unfinished() const { return unfinished_; }

  // What the last part gave, as lines of tokens with a space between.
  std::vector<uint8_t> print(const PrintTable& table);

  // Keep what the last part gave, and hand over all that was kept: ids, and where in them, counted
  // from the very first, lines end.
  void collect();
  IdBuffer& collected() { return collected_; }
  std::vector<uint64_t>& line_ends() { return line_ends_; }

 private:
  struct Chunk {
    const uint8_t *begin, *end;
    TextState state;
    const uint8_t* invalid;
    IdBuffer ids;
    std::vector<uint64_t> line_ends;
    bool in_line;  // its first id has another before it in its line
    std::vector<uint8_t> printed;
  };

  bool may_cut(const uint8_t* p) const;
  bool cuts_lines() const;
  bool needs_lines() const;
  const uint8_t* chunk_end(const uint8_t* p, const uint8_t* end) const;
  void add_chunk(const uint8_t* begin, const uint8_t* end);
  template <class Work>
  void on_threads(Work&& work);
  void encode_chunk(Chunk& chunk, EncodeWorker& worker) const;
  static void print_chunk(Chunk& chunk, const PrintTable& table);

  const Encoder& encoder_;
  const std::vector<uint8_t> allowed_;
  const Dropout dropout_;
  const unsigned threads_;
  const NameTable::Active active_;

  std::unique_ptr<Crew> crew_;
  std::vector<std::unique_ptr<Chunk>> chunks_;  // their memory is used again
  size_t used_chunks_ = 0;
  TextState state_;
  bool line_open_ = false;     // text since the last line end
  bool line_has_ids_ = false;  // and ids
  bool unfinished_ = false;    // the file ended without a line end
  uint64_t total_ = 0;         // ids collected, those handed over included
  IdBuffer collected_;
  std::vector<uint64_t> line_ends_;
};

}  // namespace volt
