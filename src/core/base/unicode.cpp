#include "base/unicode.hpp"

#include <cstring>

namespace volt {
namespace {
#include "unicode_tables.inc"
}  // namespace

const char* unicode_version() { return kUnicodeVersion; }

CharClass char_class(uint32_t code_point) {
  return static_cast<CharClass>(kBlocks[kBlockIndex[code_point >> 7]][code_point & 127] & 7);
}

LetterCase letter_case(uint32_t code_point) {
  return static_cast<LetterCase>(kBlocks[kBlockIndex[code_point >> 7]][code_point & 127] >> 3 & 3);
}

bool is_sign(uint32_t code_point) { return kBlocks[kBlockIndex[code_point >> 7]][code_point & 127] & 32; }

const uint8_t* find_invalid_utf8(const uint8_t* p, const uint8_t* end) {
  while (p < end) {
    // Most text is ASCII: sixteen bytes at a time.
    while (end - p >= 16) {
      uint64_t low, high;
      std::memcpy(&low, p, 8);
      std::memcpy(&high, p + 8, 8);
      if ((low | high) & 0x8080808080808080ull) break;
      p += 16;
    }
    while (p < end && *p < 0x80) ++p;
    // Now a run of characters beyond ASCII.
    while (p < end && *p >= 0x80) {
      const uint8_t first = *p;
      const ptrdiff_t left = end - p;
      if (first >= 0xC2 && first < 0xE0) {
        if (left < 2 || !is_continuation(p[1])) return p;
        p += 2;
      } else if (first >= 0xE0 && first < 0xF0) {
        if (left < 3 || !is_continuation(p[1]) || !is_continuation(p[2])) return p;
        if (first == 0xE0 && p[1] < 0xA0) return p;   // overlong
        if (first == 0xED && p[1] >= 0xA0) return p;  // surrogate
        p += 3;
      } else if (first >= 0xF0 && first < 0xF5) {
        if (left < 4 || !is_continuation(p[1]) || !is_continuation(p[2]) || !is_continuation(p[3]))
          return p;
        if (first == 0xF0 && p[1] < 0x90) return p;   // overlong
        if (first == 0xF4 && p[1] >= 0x90) return p;  // past U+10FFFF
        p += 4;
      } else {
        return p;
      }
    }
  }
  return nullptr;
}

size_t count_characters(const uint8_t* p, const uint8_t* end) {
  size_t count = 0;
  for (; p < end; ++p) count += !is_continuation(*p);
  return count;
}

}  // namespace volt
