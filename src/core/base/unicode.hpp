// Character classes, UTF-8 decoding and UTF-8 validation.
#pragma once

#include <cstddef>
#include <cstdint>

namespace volt {

enum class CharClass : uint8_t { other = 0, letter = 1, mark = 2, number = 3, space = 4 };

// The Unicode version of the class table, such as "15.1.0".
const char* unicode_version();

CharClass char_class(uint32_t code_point);

enum class LetterCase : uint8_t { none = 0, upper = 1, lower = 2 };  // title case is upper

LetterCase letter_case(uint32_t code_point);

bool is_sign(uint32_t code_point);  // punctuation or a symbol: \p{P} or \p{S}

struct Decoded {
  uint32_t code_point;
  uint32_t bytes;
};

// Number of bytes of the character that starts with this byte of valid UTF-8.
inline uint32_t sequence_length(uint8_t first) {
  return first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
}

inline bool is_continuation(uint8_t byte) { return (byte & 0xC0) == 0x80; }

// `end`, or the start of the last character if its last bytes are missing.
inline const uint8_t* whole_characters(const uint8_t* p, const uint8_t* end) {
  for (int i = 1; i <= 3 && end - p >= i; ++i) {
    const uint8_t byte = end[-i];
    if (is_continuation(byte)) continue;
    return byte >= 0xC0 && sequence_length(byte) > static_cast<uint32_t>(i) ? end - i : end;
  }
  return end;
}

// Decode one character of valid UTF-8.
inline Decoded decode(const uint8_t* p) {
  const uint8_t first = p[0];
  if (first < 0x80) return {first, 1};
  if (first < 0xE0) return {static_cast<uint32_t>((first & 0x1F) << 6 | (p[1] & 0x3F)), 2};
  if (first < 0xF0)
    return {static_cast<uint32_t>((first & 0x0F) << 12 | (p[1] & 0x3F) << 6 | (p[2] & 0x3F)), 3};
  return {static_cast<uint32_t>((first & 0x07) << 18 | (p[1] & 0x3F) << 12 | (p[2] & 0x3F) << 6 |
                                (p[3] & 0x3F)),
          4};
}

// First byte of the first ill-formed sequence in [p, end), or nullptr if there is none. Well-formed
// as in the Unicode standard, table 3-7: no surrogates, no overlong forms, nothing past U+10FFFF.
const uint8_t* find_invalid_utf8(const uint8_t* p, const uint8_t* end);

// How many characters the valid UTF-8 in [p, end) has.
size_t count_characters(const uint8_t* p, const uint8_t* end);

}  // namespace volt
