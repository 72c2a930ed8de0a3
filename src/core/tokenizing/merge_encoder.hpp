// A word -> ids, by merging: the word is spelled in characters, and neighbours are merged, the lowest
// rank first, leftmost on a tie. volt.reference.encode has the slow twin.
#pragma once

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/stop.hpp"
#include "base/unicode.hpp"
#include "tokenizing/dropout.hpp"
#include "tokenizing/encode_tables.hpp"

namespace volt {

class MergeEncoder {
 public:
  explicit MergeEncoder(const EncodeTables& tables) : tables_(tables) {}

  // Encode one word, with a space before it if `prefix`. `out` must have room for one id per byte and
  // one for the space. Returns one past the last id. The coin, if there is one, skips merges.
  uint32_t* encode(bool prefix, const uint8_t* word, size_t bytes, uint32_t* out, Coin* coin) {
    make_room(bytes + prefix);
    if (bytes > kFew && coin == nullptr && fits(bytes)) {
      const uint32_t* end = fitting_.encode(*known_, word, bytes, symbols_.data());
      for (const uint32_t* token = symbols_.data(); token < end; ++token) out = emit(*token, kNoToken, out);
      return out;
    }
    const size_t size = spell(prefix, word, bytes, tables_.marks_end);
    return tables_.tracks_merges ? merge<true>(size, out, coin) : merge<false>(size, out, coin);
  }

  // Encode the start of a word that goes on after `end`, as far as its ids are sure. Returns where the rest
  // begins. docs/words.md has the proof.
  const uint8_t* encode_start(bool prefix, const uint8_t* word, const uint8_t* end, uint32_t*& out) {
    if (tables_.matching.marks_start) return word;
    const size_t longest = tables_.longest, bytes = static_cast<size_t>(end - word);
    make_room(bytes + prefix);
    const bool fitted = fits(bytes);
    const size_t size = fitted ? bytes : spell(prefix, word, bytes, false);
    if (size >= kNoToken) return word;
    fitted ? fit_whole(word, bytes) : link_whole(size);
    for (size_t after = kAfter * longest; after <= size / 2; after *= 2) {
      auto last = std::upper_bound(starts_.begin(), starts_.end(), static_cast<uint32_t>(size - after));
      for (int tries = 0; tries < kTries && --last > starts_.begin(); ++tries) {
        const size_t tokens = static_cast<size_t>(last - starts_.begin());
        const uint8_t* rest = text_of(prefix, word, end, *last);
        if (rest == nullptr || rest == word) continue;
        if (fitted)
          for (size_t i = *last; i < size; ++i) symbols_[i] = tables_.characters.find(word[i]);
        if (!is_sure(*last, whole_[tokens].id, size, longest)) continue;
        for (size_t i = 0; i < tokens; ++i) out = emit(whole_[i].id, whole_[i].join, out);
        return rest;
      }
    }
    return word;
  }

  // The last two tokens that a text is merged from; kNoToken twice if it does not become two. `ends`: does
  // the text have the mark of a word's end?
  std::pair<uint32_t, uint32_t> last_pair(const uint8_t* text, size_t bytes, bool ends) {
    make_room(bytes);
    size_t size = spell(false, text, bytes, ends);
    uint32_t* ids = symbols_.data();
    while (size > 2) {
      uint64_t best = ~uint64_t{0};  // rank and place: the leftmost on a tie
      for (size_t i = 0; i + 1 < size; ++i)
        best = std::min(best, uint64_t{tables_.find_first(ids[i], ids[i + 1])} << 32 | i);
      const auto lowest = static_cast<uint32_t>(best >> 32), at = static_cast<uint32_t>(best);
      if (lowest == kNoToken) break;
      ids[at] = tables_.made[lowest];
      std::copy(ids + at + 2, ids + size--, ids + at + 1);
    }
    return size == 2 ? std::pair{ids[0], ids[1]} : std::pair{kNoToken, kNoToken};
  }

 private:
  static constexpr size_t kBytesPerToken = 8;  // see EncodeTables::fitting
  static constexpr size_t kFew = 32;  // up to this many symbols a scan is faster than a heap
  static constexpr size_t kAfter = 4;  // what is sure ends so many times the longest token before the end
  static constexpr int kTries = 4;     // places that are tried there, before one further away

  // Which two tokens were merged, and how those were merged.
  struct Join {
    uint32_t left, left_join, right, right_join;
  };
  struct Token {
    uint32_t id, join;
  };
  struct Link {
    uint32_t id, previous, next;
    uint32_t rank;  // of what this and the next symbol make
    uint32_t join;
  };

  // After some text, long words are not merged but made of tokens that fit. Short ones gain nothing: what
  // merging needs stays in the processor's cache, and the tree does not (0.80 s against 0.88 s for 60 MB of
  // made text with 32,000 tokens, 1.49 s against 1.19 s with 128,000).
  bool fits(size_t bytes) {
    if (known_ != nullptr) return known_->usable();
    merged_ += bytes;
    if (!tables_.fits_tokens || merged_ < kBytesPerToken * tables_.left.size()) return false;
    known_ = &tables_.fitting();
    return known_->usable();
  }

  // The tokens of a long word, and where they start, by merging; or found without merging, where `ab` repeated
  // takes a sixth of the time.
  void link_whole(size_t size) {
    joins_.clear();
    whole_.clear();
    starts_.clear();
    tables_.tracks_merges ? link<true>(symbols_.data(), size, nullptr) : link<false>(symbols_.data(), size, nullptr);
    for (uint32_t i = 0; i < size; i = links_[i].next) {
      whole_.push_back({links_[i].id, links_[i].join});
      starts_.push_back(i);
    }
  }
  void fit_whole(const uint8_t* word, size_t bytes) {
    uint32_t* const first = symbols_.data();
    const auto tokens = static_cast<size_t>(fitting_.encode(*known_, word, bytes, first) - first);
    whole_.resize(tokens);
    starts_.resize(tokens);
    for (size_t i = 0, at = 0; i < tokens; at += known_->bytes(first[i++])) {
      whole_[i] = {first[i], kNoToken};
      starts_[i] = static_cast<uint32_t>(at);
    }
  }

  // ------------------------------------------------------------------------------------------ spelling

  void make_room(size_t symbols) {
    if (symbols > symbols_.size()) symbols_.resize(std::max<size_t>(2 * symbols, 64));
  }

  // Write the symbols of a word; returns how many. `ends`: does its last character have a mark?
  size_t spell(bool prefix, const uint8_t* p, size_t bytes, bool ends) {
    uint32_t* out = symbols_.data();
    if (tables_.bytes_only()) {
      for (size_t i = 0; i < bytes; ++i) out[i] = tables_.characters.find(p[i]);
      return bytes;
    }
    static constexpr uint8_t kSpaceText[] = {' '};
    if (prefix) out = spell_character(tables_.characters, kSpaceText, 1, ' ', out);
    const uint8_t* end = p + bytes;
    while (p < end) {
      const Decoded d = decode(p);
      const bool last = ends && p + d.bytes == end;
      out = spell_character(last ? tables_.final_characters : tables_.characters, p, d.bytes, d.code_point,
                            out);
      p += d.bytes;
    }
    return static_cast<size_t>(out - symbols_.data());
  }

  // A character that is not in the vocabulary becomes tokens that merge with nothing.
  uint32_t* spell_character(const CharacterTable& table, const uint8_t* p, size_t bytes,
                            uint32_t code_point, uint32_t* out) {
    const uint32_t token = table.find(code_point);
    if (token != kNoToken) [[likely]] {
      *out++ = token;
    } else if (!tables_.byte_tokens.empty()) {
      for (size_t i = 0; i < bytes; ++i) *out++ = tables_.byte_tokens[p[i]];
    } else {
      *out++ = tables_.unknown;
    }
    return out;
  }

  // ------------------------------------------------------------------------------------------- merging

  template <bool track>
  uint32_t* merge(size_t size, uint32_t* out, Coin* coin) {
    joins_.clear();
    return size <= kFew && coin == nullptr ? merge_few<track>(size, out) : merge_many<track>(size, out, coin);
  }

  // The lowest rank and its place, the leftmost on a tie. Two at a time, so that one comparison does not
  // wait for the one before.
  static std::pair<uint32_t, uint32_t> lowest_of(const uint32_t* ranks, size_t size) {
    uint64_t even = ~uint64_t{0}, odd = even;
    size_t i = 0;
    for (; i + 1 < size; i += 2) {
      even = std::min(even, uint64_t{ranks[i]} << 32 | i);
      odd = std::min(odd, uint64_t{ranks[i + 1]} << 32 | (i + 1));
    }
    if (i < size) even = std::min(even, uint64_t{ranks[i]} << 32 | i);
    const uint64_t best = std::min(even, odd);
    return {static_cast<uint32_t>(best >> 32), static_cast<uint32_t>(best)};
  }

  // Look for the best pair before every merge. What the pairs make is looked up once and kept.
  template <bool track>
  uint32_t* merge_few(size_t size, uint32_t* out) {
    uint32_t* ids = symbols_.data();
    uint32_t ranks[kFew], joins[kFew];
    if (track) std::fill_n(joins, size, kNoToken);
    for (size_t i = 0; i + 1 < size; ++i) ranks[i] = tables_.find_first(ids[i], ids[i + 1]);
    for (;;) {
      const auto [lowest, at] = lowest_of(ranks, std::max<size_t>(size, 1) - 1);
      if (lowest == kNoToken) break;
      if (track) joins[at] = join(ids[at], joins[at], ids[at + 1], joins[at + 1]);
      ids[at] = tables_.made[lowest];
      --size;
      for (size_t i = at + 1; i < size; ++i) {
        ids[i] = ids[i + 1];
        ranks[i - 1] = ranks[i];
        if (track) joins[i] = joins[i + 1];
      }
      if (at > 0) ranks[at - 1] = tables_.pairs.find(ids[at - 1], ids[at]);
      if (at + 1 < size) ranks[at] = tables_.pairs.find(ids[at], ids[at + 1]);
    }
    for (size_t i = 0; i < size; ++i) out = emit(ids[i], track ? joins[i] : kNoToken, out);
    return out;
  }

  template <bool track>
  uint32_t* merge_many(size_t size, uint32_t* out, Coin* coin) {
    if (size >= kNoToken) throw std::length_error("a word of more than 4,294,967,294 characters");
    link<track>(symbols_.data(), size, coin);
    for (uint32_t i = 0; i < size; i = links_[i].next) out = emit(links_[i].id, links_[i].join, out);
    return out;
  }

  // A list of symbols and a heap of pairs (rank, position): near-linear for words of any length. An
  // entry is out of date if the pair at its position now makes something else. Merges that the coin
  // skips come back after the next merge.
  template <bool track>
  void link(const uint32_t* symbols, size_t size, Coin* coin) {
    links_.resize(size);
    heap_.clear();
    skipped_.clear();
    for (uint32_t i = 0; i < size; ++i) {
      links_[i] = {symbols[i], i - 1, i + 1 < size ? i + 1 : kNoToken, kNoToken, kNoToken};
      if (i > 0) rank_pair(i - 1, i);
    }
    std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
    while (!heap_.empty()) {
      poll();
      const uint64_t top = heap_.front();
      std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
      heap_.pop_back();
      const auto rank = static_cast<uint32_t>(top >> 32), at = static_cast<uint32_t>(top);
      Link& link = links_[at];
      if (link.rank != rank) continue;
      if (coin != nullptr && coin->skips()) {
        skipped_.push_back(top);
        continue;
      }
      Link& gone = links_[link.next];
      if (track) link.join = join(link.id, link.join, gone.id, gone.join);
      link.id = tables_.made[rank];
      link.next = gone.next;
      gone.rank = link.rank = kNoToken;
      if (at > 0) push_pair(link.previous, at);
      if (link.next != kNoToken) {
        links_[link.next].previous = at;
        push_pair(at, link.next);
      }
      for (const uint64_t entry : skipped_) push(entry);
      skipped_.clear();
    }
  }

  bool rank_pair(uint32_t at, uint32_t next) {
    links_[at].rank = tables_.pairs.find(links_[at].id, links_[next].id);
    if (links_[at].rank == kNoToken) return false;
    heap_.push_back(static_cast<uint64_t>(links_[at].rank) << 32 | at);
    return true;
  }
  void push_pair(uint32_t at, uint32_t next) {
    if (rank_pair(at, next)) std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  }
  void push(uint64_t entry) {
    heap_.push_back(entry);
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  }

  // ---------------------------------------------------------------------------------- parts of long words

  // Does a token begin at this symbol, whatever comes after the symbols? The tokens of the whole word meet
  // one of the last places, so it is enough that the same token begins here if the word ends at any of them.
  bool is_sure(uint32_t at, uint32_t id, size_t size, size_t longest) {
    for (size_t end = size - longest + 1; end <= size; ++end) {
      if (end == size || std::binary_search(starts_.begin(), starts_.end(), static_cast<uint32_t>(end))) continue;
      link<false>(symbols_.data() + at, end - at, nullptr);
      if (links_[0].id != id) return false;
    }
    return true;
  }

  // Where a symbol is in the text; null if it is inside a character.
  const uint8_t* text_of(bool prefix, const uint8_t* p, const uint8_t* end, uint32_t symbol) const {
    if (tables_.bytes_only()) return is_continuation(p[symbol]) ? nullptr : p + symbol;
    uint32_t passed = prefix;
    for (; passed < symbol && p < end; p += sequence_length(*p)) {
      const bool whole = tables_.byte_tokens.empty() || tables_.characters.find(decode(p).code_point) != kNoToken;
      passed += whole ? 1 : sequence_length(*p);
    }
    return passed == symbol ? p : nullptr;
  }

  uint32_t join(uint32_t left, uint32_t left_join, uint32_t right, uint32_t right_join) {
    joins_.push_back({left, left_join, right, right_join});
    return static_cast<uint32_t>(joins_.size() - 1);
  }

  uint32_t* emit(uint32_t id, uint32_t from, uint32_t* out) {
    if (id >= tables_.visible) [[unlikely]] return emit_parts(id, from, out);
    *out++ = id;
    return out;
  }

  // Hidden tokens are split into those they were merged from, until none is hidden. Not inline: with it, no
  // caller of `emit` would be.
  [[gnu::noinline]] uint32_t* emit_parts(uint32_t id, uint32_t from, uint32_t* out) {
    stack_.assign(1, {id, from});
    while (!stack_.empty()) {
      const auto [token, made] = stack_.back();
      stack_.pop_back();
      if (token < tables_.visible) {
        *out++ = token;
      } else if (made != kNoToken) {
        const Join& j = joins_[made];
        stack_.push_back({j.right, j.right_join});
        stack_.push_back({j.left, j.left_join});
      } else {
        stack_.push_back({tables_.right[token], kNoToken});
        stack_.push_back({tables_.left[token], kNoToken});
      }
    }
    return out;
  }

  const EncodeTables& tables_;
  const FittingTokens* known_ = nullptr;
  FittingEncoder fitting_;
  size_t merged_ = 0;  // bytes
  std::vector<uint32_t> symbols_;
  std::vector<Link> links_;
  std::vector<Token> whole_;      // the tokens of a long word
  std::vector<uint32_t> starts_;  // and where they start
  std::vector<uint64_t> heap_, skipped_;
  std::vector<Join> joins_;
  std::vector<std::pair<uint32_t, uint32_t>> stack_;
};

}  // namespace volt
