// The pre-tokenizers: lines -> words. Each scanner hands its words to a sink,
//
//     sink(begin, end, prefix, continued)
//
// where `prefix` says that a space stands before the word that is not in the text (metaspace, first
// word of a line) and `continued` that the word goes on where an earlier cut left it. If the line is
// not complete, a scanner stops at the first word that might go on, and says where that is.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>

#include "count.hpp"
#include "unicode.hpp"

namespace volt {

// A word that ends this many bytes before the end of the data ends there whatever comes next.
constexpr ptrdiff_t kLookahead = 16;

enum Kind : uint8_t { kOther, kLetter, kNumber, kSpace, kMark, kLonger, kUpper, kLower, kCombining };

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

// Byte-level (GPT-4o): letters by case, and marks by themselves.
inline Kind cased_kind(uint32_t c) {
  switch (char_class(c)) {
    case CharClass::letter: {
      const LetterCase found = letter_case(c);
      return found == LetterCase::upper ? kUpper : found == LetterCase::lower ? kLower : kLetter;
    }
    case CharClass::mark: return kCombining;
    case CharClass::number: return kNumber;
    case CharClass::space: return kSpace;
    default: return kOther;
  }
}

// One past the next line end in [p, end), or end.
inline const uint8_t* next_line_end(const uint8_t* p, const uint8_t* end) {
  const void* found = p < end ? std::memchr(p, '\n', end - p) : nullptr;
  return found ? static_cast<const uint8_t*>(found) + 1 : end;
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

// The same in either case, as later patterns have it: the long s (U+017F) is an s then.
inline ptrdiff_t any_case_contraction(const uint8_t* p, const uint8_t* end) {
  if (*p != '\'') return 0;
  if (end - p > 2 && p[1] == 0xC5 && p[2] == 0xBF) return 3;
  uint8_t lower[3] = {'\''};
  for (ptrdiff_t i = 1; i < 3 && i < end - p; ++i) lower[i] = p[i] | (p[i] >= 'A' && p[i] <= 'Z' ? 0x20 : 0);
  return contraction(lower, lower + 3);
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

inline bool is_line_break(uint8_t c) { return c == '\r' || c == '\n'; }

// Where the first word of the white space [p, run) ends: after the last line break; else before its last
// character, which goes with what comes next.
inline const uint8_t* white_space_end(const uint8_t* p, const uint8_t* run, const uint8_t* end) {
  const uint8_t* q = run;
  while (q > p && !is_line_break(q[-1])) --q;
  if (q > p || run == end) return q > p ? q : run;
  for (q = run - 1; is_continuation(*q);) --q;
  return q > p ? q : run;
}

// The pattern of Llama 3,
//     (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|
//     \s*[\r\n]+|\s+(?!\S)|\s+
// of Qwen 2, which has \p{N} for \p{N}{1,3}, and of GPT-4 (cl100k), which has \s+$ before \s*[\r\n]+.
template <class Sink>
const uint8_t* scan_pattern(Pretokenizer pretokenizer, const uint8_t* p, const uint8_t* end, LineState& state,
                            bool complete, uint32_t max_length, Sink& sink) {
  const auto& kinds = KindTable<byte_level_kind>::get();
  const int most_numbers = pretokenizer == Pretokenizer::qwen2 ? 1 : 3;
  while (p < end) {
    const bool starts = !state.continuing;
    uint32_t bytes, next_bytes = 0;
    Kind kind = kinds.at(p, bytes);
    const uint8_t* q = p + bytes;  // where the word ends
    const uint8_t* seen = q;       // how far its characters are of one kind
    const ptrdiff_t suffix = starts ? any_case_contraction(p, end) : 0;
    if (starts && (kind == kOther || kind == kSpace) && !is_line_break(*p) && q < end) {
      const Kind next = kinds.at(q, next_bytes);
      if (next == kLetter || (next == kOther && *p == ' ')) {
        kind = next;
        seen = q += next_bytes;
      }
    }
    if (suffix) {
      seen = q = p + suffix;
    } else if (kind == kNumber) {
      for (int i = 1; i < most_numbers && q < end && kinds.at(q, bytes) == kNumber; ++i) q += bytes;
      seen = q;
    } else {
      seen = q = kinds.run_end(q, end, kind);
      if (kind == kOther) {
        while (q < end && is_line_break(*q)) ++q;
      } else if (kind == kSpace && !(pretokenizer == Pretokenizer::cl100k && q == end)) {
        q = white_space_end(p, seen, end);
      }
    }
    if (!complete && end - std::max(q, seen) < kLookahead) {
      // Where white space is cut, its end decides.
      if (suffix || kind == kNumber || kind == kSpace) return p;
      return cut_unfinished(p, seen, kind, false, state, max_length, sink);
    }
    sink(p, q, false, !starts);
    state.continuing = 0;
    p = q;
  }
  return p;
}

// A word of letters by the pattern of GPT-4o, [UB]*[lB]+ or else U+: capitals (U), letters without case and
// marks (B), small letters (l).
struct CasedWord {
  const uint8_t* end;    // of the word; where it should begin if there is none
  const uint8_t* run;    // of [UB]*[lB]*
  const uint8_t* sure;   // up to here it is one word, whatever comes behind the run
  const uint8_t* small;  // the first small letter
  bool capitals = true;  // nothing else
};

inline CasedWord cased_word(const uint8_t* p, const uint8_t* end, bool after_small) {
  const auto& kinds = KindTable<cased_kind>::get();
  CasedWord word{p, p, p, after_small ? p : nullptr};
  for (uint32_t bytes; word.run < end; word.run += bytes) {
    const Kind kind = kinds.at(word.run, bytes);
    if (kind == kUpper ? word.small != nullptr : kind != kLetter && kind != kCombining && kind != kLower) break;
    if (kind == kLower && word.small == nullptr) word.small = word.run;
    if (kind == kUpper) continue;
    word.end = word.run + bytes;
    word.capitals = false;
  }
  if (word.capitals) word.end = word.run;
  word.sure = word.end;
  return word;
}

// The pattern of GPT-4o (o200k), where W is [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}], w is [\p{Ll}\p{Lm}\p{Lo}\p{M}] and
// s is (?i:'s|'t|'re|'ve|'m|'ll|'d):
//     [^\r\n\p{L}\p{N}]?W*w+s?|[^\r\n\p{L}\p{N}]?W+w*s?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|
//     \s+(?!\S)|\s+
template <class Sink>
const uint8_t* scan_cased(const uint8_t* p, const uint8_t* end, LineState& state, bool complete,
                          uint32_t max_length, Sink& sink) {
  const auto& kinds = KindTable<cased_kind>::get();
  while (p < end) {
    const bool starts = !state.continuing;
    uint32_t bytes;
    Kind kind = kinds.at(p, bytes);
    const bool takes_sign =
        starts && (kind == kOther || kind == kCombining || (kind == kSpace && !is_line_break(*p)));
    const uint8_t* body = takes_sign ? p + bytes : p;
    CasedWord word = cased_word(body, end, state.continuing == kLower + 1);
    // A mark is the sign before a word, or a letter of the first alternative, which comes before the second.
    if (starts && kind == kCombining && word.capitals) word = cased_word(body = p, end, false);
    const uint8_t* q = p;     // where the word ends
    const uint8_t* seen = p;  // how far it was looked at
    if (state.continuing != kOther + 1 && word.run > body) {
      kind = kLetter;
      seen = word.run;
      q = word.end;
      if (q < end) q += any_case_contraction(q, end);
    } else if (kind == kNumber) {
      for (int i = 0; i < 3 && q < end && kinds.at(q, bytes) == kNumber; ++i) q += bytes;
    } else {
      body = starts && *p == ' ' ? p + 1 : p;
      for (q = body; q < end; q += bytes) {
        const Kind next = kinds.at(q, bytes);
        if (next != kOther && next != kCombining) break;
      }
      seen = q;
      if (q > body) {
        kind = kOther;
        word.sure = q;
        while (q < end && (is_line_break(*q) || *q == '/')) ++q;
      } else {
        kind = kSpace;
        seen = kinds.run_end(p, end, kSpace);
        q = white_space_end(p, seen, end);
      }
    }
    if (!complete && end - std::max(q, seen) < kLookahead) {
      if (kind == kNumber || kind == kSpace) return p;
      const uint8_t* rest = cut_unfinished(p, word.sure, kind, false, state, max_length, sink);
      if (rest > p && kind == kLetter && word.small != nullptr && rest > word.small) state.continuing = kLower + 1;
      return rest;
    }
    sink(p, q, false, !starts);
    state.continuing = 0;
    p = q;
  }
  return p;
}

template <class Sink>
const uint8_t* scan_bytes(Pretokenizer pretokenizer, const uint8_t* p, const uint8_t* end, LineState& state,
                          bool complete, uint32_t max_length, Sink& sink) {
  return pretokenizer == Pretokenizer::byte_level
             ? scan_byte_level(p, end, state, complete, max_length, sink)
         : pretokenizer == Pretokenizer::o200k
             ? scan_cased(p, end, state, complete, max_length, sink)
             : scan_pattern(pretokenizer, p, end, state, complete, max_length, sink);
}

}  // namespace volt
