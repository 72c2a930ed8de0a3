// The texts of all tokens at once, packed: token t is [offsets[t], offsets[t + 1]) of the text. For what has
// to be known of every token of a large vocabulary. volt.reference.token_texts has the slow twins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "counting/pretokenizer.hpp"

namespace volt {

struct PackedTexts {
  const uint8_t* text;
  const uint64_t* offsets;
  size_t size;

  std::span<const uint8_t> operator[](size_t i) const {
    return {text + offsets[i], static_cast<size_t>(offsets[i + 1] - offsets[i])};
  }
};

// Per token: 1 if it is valid UTF-8 and the pre-tokenizer cuts inside it.
std::vector<uint8_t> cut_inside(Pretokenizer pretokenizer, const PackedTexts& tokens);

// Per token: 1 if a whole character of it is something other than a space, a tab or a line end.
std::vector<uint8_t> show_text(const PackedTexts& tokens);

// The first token that is not its two parents joined, or the number of tokens. A token whose first parent is
// negative has none. Parents are tokens.
size_t find_unjoined(const PackedTexts& tokens, const int64_t* parents);

struct Letters {
  std::vector<uint8_t> text;
  std::vector<uint64_t> offsets;
};

// Tokens of valid UTF-8 that are written in byte letters, as the bytes that they stand for. Where `spelled`
// is 0, the text is taken as it is. Throws std::invalid_argument at a character that is not a byte letter.
Letters letter_bytes(const PackedTexts& tokens, const uint8_t* spelled);

}  // namespace volt
