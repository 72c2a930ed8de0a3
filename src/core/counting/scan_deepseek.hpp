// The scanner of DeepSeek V3, whose text is cut three times: at numbers, where Chinese characters and kana
// begin and end, and all parts by a pattern. What no alternative of the pattern matches is a word as well.
#pragma once

#include "counting/scan_patterns.hpp"

namespace volt {

inline bool is_ascii_letter(uint8_t c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; }

//     \p{N}{1,3}
//     [\u4E00-\u9FA5\u3040-\u309F\u30A0-\u30FF]+
//     [!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|
//      ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
template <class Sink>
const uint8_t* scan_deepseek(const uint8_t* p, const uint8_t* end, LineState& state, bool complete,
                             uint32_t max_length, Sink& sink) {
  const auto& kinds = KindTable<deepseek_kind>::get();
  const auto is_han = [](Kind kind) { return kind == kHan || kind == kHanSign || kind == kHanOther; };
  while (p < end) {
    const bool starts = !state.continuing;
    uint32_t bytes, next_bytes = 0;
    Kind kind = kinds.at(p, bytes), next = kOther;
    if (!starts) kind = static_cast<Kind>(state.continuing - 1);
    const uint8_t* q = p;  // where the word ends
    if (starts && p + bytes < end) {
      next = kinds.at(p + bytes, next_bytes);
      if (kind == kSign && *p < 0x80 && is_ascii_letter(p[1])) {
        kind = kLower;  // ASCII letters after a sign
        ++q;
      } else if ((next == kLetter && (kind == kOther || (kind == kSpace && !is_line_break(*p)))) ||
                 (next == kHan && kind == kHanOther)) {
        kind = next;
        q += bytes;
      } else if (*p == ' ' && next == kSign) {
        kind = kSign;
        ++q;
      }
    }
    const uint8_t* seen = nullptr;  // how far its characters are of one kind
    switch (kind) {
      case kNumber:
        for (int i = 0; i < 3 && q < end && kinds.at(q, bytes) == kNumber; ++i) q += bytes;
        break;
      case kLower:
        while (q < end && is_ascii_letter(*q)) ++q;
        break;
      case kSign:
      case kTail:
        seen = q = kinds.run_end(q, end, kind);
        while (q < end && is_line_break(*q)) ++q;
        break;
      default:
        seen = q = kinds.run_end(q, end, kind);
        next = q < end ? kinds.at(q, bytes) : kNumber;
        // The text between numbers or Chinese characters ends here.
        if (kind == kSpace) q = white_space_end(p, seen, is_han(next) || next == kNumber ? seen : end);
        // The last of some characters that nothing matches belongs to the letters after it.
        if ((kind == kOther && next == kLetter) || (kind == kHanOther && next == kHan))
          for (--q; is_continuation(*q);) --q;
    }
    if (seen == nullptr) seen = q;
    if (!complete && end - std::max(q, seen) < kLookahead) {
      if (kind == kNumber) return p;
      if (kind == kSign || kind == kTail) return cut_signs(p, seen, q, kind, state, max_length, sink);
      const uint8_t* sure = kind == kSpace ? sure_white_space(p, seen) : seen;
      return cut_unfinished(p, sure, kind, false, state, max_length, sink);
    }
    sink(p, q, false, !starts);
    state.continuing = 0;
    p = q;
  }
  return p;
}

}  // namespace volt
