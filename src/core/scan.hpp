// The pre-tokenizers: lines -> words. Each scanner hands its words to a sink,
//
//     sink(begin, end, prefix, continued)
//
// where `prefix` says that a space stands before the word that is not in the text (metaspace, first
// word of a line) and `continued` that the word goes on where an earlier cut left it. If the line is
// not complete, a scanner stops at the first word that might go on, and says where that is.
#pragma once

#include <array>
#include <cstring>

#include "count.hpp"
#include "unicode.hpp"

namespace volt {

// A word that ends this many bytes before the end of the data ends there whatever comes next.
constexpr ptrdiff_t kLookahead = 16;

enum Kind : uint8_t { kOther, kLetter, kNumber, kSpace, kMark, kLonger };

constexpr uint32_t kSpaceMark = 0x2581;  // '▁'

// Metaspace: letters with their marks, numbers, all else; the space and U+2581 by themselves.
inline Kind metaspace_kind(uint32_t c) {
  if (c == ' ') return kSpace;
  switch (char_class(c)) {
    case CharClass::letter:
    case CharClass::mark: return kLetter;
    case CharClass::number: return kNumber;
    default: return c == kSpaceMark ? kMark : kOther;
  }
}

// Metaspace cut at spaces only.
inline Kind space_kind(uint32_t c) {
  return c == ' ' ? kSpace : c == kSpaceMark ? kMark : kOther;
}

// Byte-level (GPT-2): \p{L}, \p{N}, \s, all else.
inline Kind byte_level_kind(uint32_t c) {
  switch (char_class(c)) {
    case CharClass::letter: return kLetter;
    case CharClass::number: return kNumber;
    case CharClass::space: return kSpace;
    default: return kOther;
  }
}

// The kinds of one pre-tokenizer, by first byte where that tells.
template <Kind (*kind_of)(uint32_t)>
class KindTable {
 public:
  KindTable() {
    for (uint32_t byte = 0; byte < 256; ++byte) of_byte_[byte] = byte < 0x80 ? kind_of(byte) : kLonger;
  }
  static const KindTable& get() {
    static const KindTable table;
    return table;
  }
  // Kind and length of the character at p.
  Kind at(const uint8_t* p, uint32_t& bytes) const {
    const Kind kind = of_byte_[*p];
    if (kind != kLonger) [[likely]] {
      bytes = 1;
      return kind;
    }
    const Decoded d = decode(p);
    bytes = d.bytes;
    return kind_of(d.code_point);
  }
  // The first character from p on that is of another kind.
  const uint8_t* run_end(const uint8_t* p, const uint8_t* end, Kind kind) const {
    while (p < end) {
      const Kind next = of_byte_[*p];
      if (next == kind) [[likely]] {
        ++p;
        continue;
      }
      if (next != kLonger) break;
      const Decoded d = decode(p);
      if (kind_of(d.code_point) != kind) break;
      p += d.bytes;
    }
    return p;
  }

 private:
  std::array<Kind, 256> of_byte_;
};

// Hand over whole pieces of the word [p, end) that may go on past the data, and return the rest. At
// least one character more than a piece stays, so that a last piece is never taken for a whole word.
template <class Sink>
const uint8_t* cut_unfinished(const uint8_t* p, const uint8_t* end, Kind kind, bool prefix,
                              LineState& state, uint32_t max_length, Sink& sink) {
  if (end - p <= static_cast<ptrdiff_t>(max_length)) return p;
  const size_t piece = max_length;
  size_t characters = count_characters(p, end) + prefix;
  const uint8_t* begin = p;
  for (size_t room = piece - prefix; characters > piece + 1; characters -= piece, room = piece)
    for (size_t i = 0; i < room; ++i) p += sequence_length(*p);
  if (p == begin) return p;
  sink(begin, p, prefix, true);
  if (!state.continuing) sink.cut();
  state.at_start = false;
  state.continuing = static_cast<uint8_t>(kind + 1);
  return p;
}

// Runs of anything but space, tab, CR, LF.
template <class Sink>
const uint8_t* scan_whitespace(const uint8_t* p, const uint8_t* end, LineState& state, bool complete,
                               uint32_t max_length, Sink& sink) {
  auto delimiter = [](uint8_t c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; };
  while (p < end) {
    if (delimiter(*p)) {
      state.continuing = 0;
      ++p;
      continue;
    }
    const uint8_t* begin = p;
    while (p < end && !delimiter(*p)) ++p;
    if (p == end && !complete)
      return cut_unfinished(begin, end, kOther, false, state, max_length, sink);
    sink(begin, p, false, state.continuing != 0);
    state.continuing = 0;
  }
  return p;
}

template <Kind (*kind_of)(uint32_t), class Sink>
const uint8_t* scan_spaced(const uint8_t* p, const uint8_t* end, LineState& state, bool complete,
                           uint32_t max_length, Sink& sink) {
  const auto& kinds = KindTable<kind_of>::get();
  while (p < end) {
    const uint8_t* begin = p;
    const bool prefix = state.at_start;
    const uint8_t* q = p;
    if (!prefix && !state.continuing && *q == ' ') ++q;
    Kind kind = kOther;
    if (q < end) {
      uint32_t bytes;
      kind = kinds.at(q, bytes);
      if (kind == kMark && q == begin && !prefix) {  // U+2581 by itself: not a word
        sink.reserved();
        p = q + bytes;
        continue;
      }
      if (kind != kMark && kind != kSpace) q = kinds.run_end(q + bytes, end, kind);
    }
    if (!complete && end - q < kLookahead)
      return cut_unfinished(begin, q, kind, prefix, state, max_length, sink);
    sink(begin, q, prefix, state.continuing != 0);
    state.at_start = false;
    state.continuing = 0;
    p = q;
  }
  return p;
}

template <class Sink>
const uint8_t* scan_metaspace(const uint8_t* p, const uint8_t* end, LineState& state, bool complete,
                              uint32_t max_length, Sink& sink) {
  return scan_spaced<metaspace_kind>(p, end, state, complete, max_length, sink);
}

// Where GPT-2's pattern takes an apostrophe with the letters behind it: how many bytes; else 0.
inline ptrdiff_t contraction(const uint8_t* p, const uint8_t* end) {
  if (*p != '\'') return 0;
  const uint8_t a = end - p > 1 ? p[1] : 0, b = end - p > 2 ? p[2] : 0;
  if (a == 's' || a == 't' || a == 'm' || a == 'd') return 2;
  return (a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l') ? 3 : 0;
}

// GPT-2's pattern 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
template <class Sink>
const uint8_t* scan_byte_level(const uint8_t* p, const uint8_t* end, LineState& state, bool complete,
                               uint32_t max_length, Sink& sink) {
  const auto& kinds = KindTable<byte_level_kind>::get();
  while (p < end) {
    const uint8_t* begin = p;
    const uint8_t* q = p;
    uint32_t bytes = 0;
    Kind kind = kOther;
    ptrdiff_t suffix = state.continuing ? 0 : contraction(q, end);
    if (suffix) {
      q += suffix;
    } else {
      kind = kinds.at(q, bytes);
      if (*q == ' ' && !state.continuing && q + 1 < end) {
        const Kind next = kinds.at(q + 1, bytes);
        if (next != kSpace) {
          kind = next;
          ++q;
        } else {
          bytes = 1;
        }
      }
      const uint8_t* run = q;
      q = kinds.run_end(q + bytes, end, kind);
      // White space before a word leaves its last character to that word.
      if (kind == kSpace && q < end) {
        const uint8_t* last = q - 1;
        while (is_continuation(*last)) --last;
        if (last > run) q = last;
      }
    }
    if (!complete && end - q < kLookahead)
      return suffix ? begin : cut_unfinished(begin, q, kind, false, state, max_length, sink);
    sink(begin, q, false, state.continuing != 0);
    state.continuing = 0;
    p = q;
  }
  return p;
}

}  // namespace volt
