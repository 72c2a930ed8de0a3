// The pre-tokenizers: how a line or document is cut into words. docs/words.md has the exact rules,
// volt.reference.words the slow twins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace volt {

enum class Pretokenizer : uint8_t {
  whitespace, metaspace, byte_level, cl100k, llama3, qwen2, o200k, deepseek, starcoder,
  custom,  // text comes cut into words already
};
constexpr int kPretokenizers = 10;

// Does the alphabet consist of bytes? The pre-tokenizers after byte_level, GPT-2's, differ from it in
// the pattern that cuts words.
inline bool is_byte_level(Pretokenizer pretokenizer) { return pretokenizer >= Pretokenizer::byte_level; }

// U+2581, '▁', which metaspace words have for a space.
constexpr uint32_t kSpaceMark = 0x2581;
constexpr uint8_t kSpaceMarkText[] = {0xE2, 0x96, 0x81};
constexpr size_t kSpaceMarkBytes = sizeof kSpaceMarkText;

// Where metaspace words end: where letters, numbers and other characters meet, and before a space; only
// before a space; or before a run of spaces, which belongs to the word after it.
enum class WordEnds : uint8_t { kinds, spaces, runs };

inline bool starts_with_mark(const uint8_t* p, const uint8_t* end) {
  return end - p >= static_cast<ptrdiff_t>(kSpaceMarkBytes) &&
         std::memcmp(p, kSpaceMarkText, kSpaceMarkBytes) == 0;
}

}  // namespace volt
