// Kinds of characters. A word ends where they change; each pre-tokenizer has its own kinds.
#pragma once

#include <array>

#include "base/unicode.hpp"
#include "counting/pretokenizer.hpp"

namespace volt {

enum Kind : uint8_t {
  kOther, kLetter, kNumber, kSpace, kMark, kLonger, kUpper, kLower, kCombining, kSign,
  kHan, kHanSign, kHanOther,  // Chinese and Japanese letters, signs, and what is neither
  kTail,  // line breaks after signs, which belong to them
};

// Metaspace: letters with their marks, numbers, everything else; the space and U+2581 by themselves.
inline Kind metaspace_kind(uint32_t c) {
  if (c == ' ') return kSpace;
  switch (char_class(c)) {
    case CharClass::letter:
    case CharClass::mark: return kLetter;
    case CharClass::number: return kNumber;
    default: return c == kSpaceMark ? kMark : kOther;
  }
}

// Metaspace that is cut at spaces only.
inline Kind space_kind(uint32_t c) {
  return c == ' ' ? kSpace : c == kSpaceMark ? kMark : kOther;
}

// Byte-level (GPT-2): \p{L}, \p{N}, \s, everything else.
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

// Byte-level (DeepSeek V3): letters with marks, punctuation with symbols, and what is none of these, in
// and outside of Chinese characters and kana; numbers and white space.
inline Kind deepseek_kind(uint32_t c) {
  const bool han = (c >= 0x4E00 && c <= 0x9FA5) || (c >= 0x3040 && c <= 0x30FF);
  switch (char_class(c)) {
    case CharClass::letter:
    case CharClass::mark: return han ? kHan : kLetter;
    case CharClass::number: return kNumber;
    case CharClass::space: return kSpace;
    default: return is_sign(c) ? (han ? kHanSign : kSign) : han ? kHanOther : kOther;
  }
}

// The kinds of one pre-tokenizer, by first byte where that is enough, else by code point.
template <Kind (*kind_of)(uint32_t)>
class KindTable {
 public:
  KindTable() {
    for (uint32_t byte = 0; byte < 256; ++byte) of_byte_[byte] = byte < 0x80 ? kind_of(byte) : kLonger;
    for (uint32_t code_point = 0; code_point < kMany; ++code_point) of_code_point_[code_point] = kind_of(code_point);
  }
  static const KindTable& get() {
    static const KindTable table;
    return table;
  }
  Kind of(uint32_t code_point) const {
    return code_point < kMany ? of_code_point_[code_point] : kind_of(code_point);
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
    return of(d.code_point);
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
      if (of(d.code_point) != kind) break;
      p += d.bytes;
    }
    return p;
  }

 private:
  static constexpr uint32_t kMany = 1 << 16;  // those of nearly all text
  std::array<Kind, 256> of_byte_;
  std::array<Kind, kMany> of_code_point_;
};

}  // namespace volt
