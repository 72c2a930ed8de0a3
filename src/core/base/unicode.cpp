#include "base/unicode.hpp"

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

size_t count_characters(const uint8_t* p, const uint8_t* end) {
  size_t count = 0;
  for (; p < end; ++p) count += !is_continuation(*p);
  return count;
}

}  // namespace volt
