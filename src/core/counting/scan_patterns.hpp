// Scanners of the byte-level pre-tokenizers, which are defined by regular expressions.
#pragma once

#include <algorithm>

#include "counting/lines.hpp"

namespace volt {

// An apostrophe that GPT-2's pattern takes together with the letters after it: how many bytes; else 0.
inline ptrdiff_t contraction(const uint8_t* p, const uint8_t* end) {
  if (*p != '\'') return 0;
  const uint8_t a = end - p > 1 ? p[1] : 0, b = end - p > 2 ? p[2] : 0;
  if (a == 's' || a == 't' || a == 'm' || a == 'd') return 2;
  return (a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l') ? 3 : 0;
}

// The same in upper or lower case, as in later patterns. The long s (U+017F) counts as an s there.
inline ptrdiff_t any_case_contraction(const uint8_t* p, const uint8_t* end) {
  if (*p != '\'') return 0;
  if (end - p > 2 && p[1] == 0xC5 && p[2] == 0xBF) return 3;
  uint8_t lower[3] = {'\''};
  for (ptrdiff_t i = 1; i < 3 && i < end - p; ++i) lower[i] = p[i] | (p[i] >= 'A' && p[i] <= 'Z' ? 0x20 : 0);
  return contraction(lower, lower + 3);
}

// GPT-2's pattern 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// `digits`: StarCoder takes every \p{N} for a word first, and cuts what is between them by the pattern.
template <bool digits, class Sink>
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
        if (next != kSpace && !(digits && next == kNumber)) {
          kind = next;
          ++q;
        } else {
          bytes = 1;
        }
      }
      const uint8_t* run = q;
      q = digits && kind == kNumber ? q + bytes : kinds.run_end(q + bytes, end, kind);
      // White space before a word leaves its last character to that word.
      if (kind == kSpace && q < end && !(digits && kinds.at(q, bytes) == kNumber)) {
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
// character, which belongs to the next word.
inline const uint8_t* white_space_end(const uint8_t* p, const uint8_t* run, const uint8_t* end) {
  const uint8_t* q = run;
  while (q > p && !is_line_break(q[-1])) --q;
  if (q > p || run == end) return q > p ? q : run;
  for (q = run - 1; is_continuation(*q);) --q;
  return q > p ? q : run;
}

// How far the white space [p, run), after which the data may end, is one word whatever comes next: to its
// last line break; if it has none, all of it but for the last character, which `cut_unfinished` keeps.
inline const uint8_t* sure_white_space(const uint8_t* p, const uint8_t* run) {
  const uint8_t* q = run;
  while (q > p && !is_line_break(q[-1])) --q;
  return q > p ? q : run;
}

// The same as `cut_unfinished` for signs [p, signs) with the line breaks [signs, end) after them.
template <class Sink>
const uint8_t* cut_signs(const uint8_t* p, const uint8_t* signs, const uint8_t* end, Kind kind, LineState& state,
                         uint32_t max_length, Sink& sink) {
  const uint8_t* rest = cut_unfinished(p, end, kind, false, state, max_length, sink);
  if (rest > p && rest >= signs) state.continuing = kTail + 1;
  return rest;
}

// The pattern of Llama 3,
//     (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|
//     \s*[\r\n]+|\s+(?!\S)|\s+
// of Qwen 2, which has \p{N} instead of \p{N}{1,3}, and of GPT-4 (cl100k), which has \s+$ before
// \s*[\r\n]+.
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
    if (state.continuing == kTail + 1) {
      kind = kOther;
      for (q = seen = p; q < end && is_line_break(*q);) ++q;
    } else if (suffix) {
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
      if (suffix || kind == kNumber) return p;
      if (kind == kOther) return cut_signs(p, seen, q, kind, state, max_length, sink);
      const uint8_t* sure = kind == kSpace ? sure_white_space(p, seen) : seen;
      return cut_unfinished(p, sure, kind, false, state, max_length, sink);
    }
    sink(p, q, false, !starts);
    state.continuing = 0;
    p = q;
  }
  return p;
}

// A word of letters by the pattern of GPT-4o, [UB]*[lB]+ or else U+, where U are capitals, B letters
// without case and marks, l small letters.
struct CasedWord {
  const uint8_t* end;    // of the word; where it would begin if there is none
  const uint8_t* run;    // of [UB]*[lB]*
  const uint8_t* sure;   // up to here it is one word, whatever comes after the run
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

// The pattern of GPT-4o (o200k), where W is [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}], w is
// [\p{Ll}\p{Lm}\p{Lo}\p{M}] and s is (?i:'s|'t|'re|'ve|'m|'ll|'d):
//     [^\r\n\p{L}\p{N}]?W*w+s?|[^\r\n\p{L}\p{N}]?W+w*s?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|
//     \s*[\r\n]+|\s+(?!\S)|\s+
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
    // A combining mark is the sign before a word, or, if nothing but capitals follows, a letter of the
    // first alternative, which is tried before the second.
    if (starts && kind == kCombining && word.capitals) word = cased_word(body = p, end, false);
    const uint8_t* q = p;     // where the word ends
    const uint8_t* seen = p;  // how far the text was looked at
    if (state.continuing == kTail + 1) {
      kind = kOther;
      while (q < end && (is_line_break(*q) || *q == '/')) ++q;
    } else if (state.continuing != kOther + 1 && word.run > body) {
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
        while (q < end && (is_line_break(*q) || *q == '/')) ++q;
      } else {
        kind = kSpace;
        seen = kinds.run_end(p, end, kSpace);
        q = white_space_end(p, seen, end);
      }
    }
    if (!complete && end - std::max(q, seen) < kLookahead) {
      if (kind == kNumber) return p;
      if (kind == kOther) return cut_signs(p, seen, q, kind, state, max_length, sink);
      const uint8_t* sure = kind == kSpace ? sure_white_space(p, seen) : word.sure;
      const uint8_t* rest = cut_unfinished(p, sure, kind, false, state, max_length, sink);
      if (rest > p && kind == kLetter && word.small != nullptr && rest > word.small)
        state.continuing = kLower + 1;
      return rest;
    }
    sink(p, q, false, !starts);
    state.continuing = 0;
    p = q;
  }
  return p;
}

}  // namespace volt
