// Places where a text may be cut in two: the words of the parts are the words of the whole, whatever
// stands before and after. So parts of a document can be scanned at the same time, and a document
// never has to be in memory as a whole. docs/words.md has the proof.
#pragma once

#include "base/unicode.hpp"
#include "counting/pretokenizer.hpp"

namespace volt {

// The class of the character that ends before p; where that is not valid UTF-8, white space.
inline CharClass class_before(const uint8_t* begin, const uint8_t* p) {
  const uint8_t* first = p - 1;
  while (first > begin && p - first < 4 && is_continuation(*first)) --first;
  return find_invalid_utf8(first, p) ? CharClass::space : char_class(decode(first).code_point);
}

// May the text that begins at `begin` be cut before p, which is inside it?
inline bool may_cut(Pretokenizer pretokenizer, const uint8_t* begin, const uint8_t* p) {
  const uint8_t here = *p, last = p[-1];
  if (pretokenizer == Pretokenizer::custom || last <= ' ' || last == 0x7F) return false;
  // 1. A space after anything but white space.
  if (here == ' ' && last < 0x7F) return true;
  if (!is_byte_level(pretokenizer)) return false;
  if (here == ' ') return class_before(begin, p) != CharClass::space;
  // 2. A line break or an ASCII sign other than the apostrophe after a letter or number.
  const bool sign = here > ' ' && here < 0x7F && here != '\'' && !(here >= '0' && here <= '9') &&
                    !((here | 0x20) >= 'a' && (here | 0x20) <= 'z');
  if (!sign && here != '\n' && here != '\r') return false;
  const CharClass before = class_before(begin, p);
  return before == CharClass::letter || before == CharClass::number;
}

// The first place from p on where [begin, end) may be cut, or end.
inline const uint8_t* next_cut(Pretokenizer pretokenizer, const uint8_t* begin, const uint8_t* p,
                               const uint8_t* end) {
  if (p <= begin) p = begin + 1;
  while (p < end && !may_cut(pretokenizer, begin, p)) ++p;
  return p < end ? p : end;
}

// The last place inside [begin, end) where it may be cut, or begin.
inline const uint8_t* last_cut(Pretokenizer pretokenizer, const uint8_t* begin, const uint8_t* end) {
  for (const uint8_t* p = end - 1; p > begin; --p)
    if (may_cut(pretokenizer, begin, p)) return p;
  return begin;
}

}  // namespace volt
