#include "tokenizing/token_texts.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "base/unicode.hpp"
#include "counting/scan.hpp"

namespace volt {
namespace {

struct WordCounter {
  size_t words = 0;
  void operator()(const uint8_t*, const uint8_t*, bool, bool) { ++words; }
  void cut() {}
  void reserved() {}
};

bool is_blank(uint8_t byte) { return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n'; }

bool shows(std::span<const uint8_t> token) {
  const uint8_t *p = token.data(), *end = p + token.size();
  while (p < end) {
    if (*p < 0x80) {
      if (!is_blank(*p)) return true;
    } else {
      const uint32_t bytes = sequence_length(*p);
      if (bytes <= end - p && find_invalid_utf8(p, p + bytes) == nullptr) return true;
    }
    ++p;  // what is not a character is passed over
  }
  return false;
}

// GPT-2's letters: a byte that is printable in Latin-1 is its own, the others are U+0100 to U+0143 in order.
std::array<int16_t, 0x144> letter_table() {
  std::array<int16_t, 0x144> byte_of;
  byte_of.fill(-1);
  int next = 0x100;
  for (int byte = 0; byte < 0x100; ++byte) {
    const bool printable = (byte > 0x20 && byte < 0x7F) || (byte > 0xA0 && byte != 0xAD);
    byte_of[printable ? byte : next++] = static_cast<int16_t>(byte);
  }
  return byte_of;
}

}  // namespace

std::vector<uint8_t> cut_inside(Pretokenizer pretokenizer, const PackedTexts& tokens) {
  std::vector<uint8_t> found(tokens.size);
  for (size_t i = 0; i < tokens.size; ++i) {
    const std::span<const uint8_t> token = tokens[i];
    const uint8_t *begin = token.data(), *end = begin + token.size();
    if (find_invalid_utf8(begin, end) != nullptr) continue;
    WordCounter counter;
    LineState state;
    scan_words(pretokenizer, begin, end, state, true, 0xFFFFFFFF, counter);
    found[i] = counter.words > 1;
  }
  return found;
}

std::vector<uint8_t> show_text(const PackedTexts& tokens) {
  std::vector<uint8_t> found(tokens.size);
  for (size_t i = 0; i < tokens.size; ++i) found[i] = shows(tokens[i]);
  return found;
}

size_t find_unjoined(const PackedTexts& tokens, const int64_t* parents) {
  for (size_t i = 0; i < tokens.size; ++i) {
    if (parents[2 * i] < 0) continue;
    const std::span<const uint8_t> token = tokens[i], left = tokens[parents[2 * i]],
                                   right = tokens[parents[2 * i + 1]];
    if (token.size() != left.size() + right.size() || !std::ranges::equal(token.first(left.size()), left) ||
        !std::ranges::equal(token.subspan(left.size()), right))
      return i;
  }
  return tokens.size;
}

Letters letter_bytes(const PackedTexts& tokens, const uint8_t* spelled) {
  static const std::array<int16_t, 0x144> byte_of = letter_table();
  Letters found;
  found.text.reserve(tokens.offsets[tokens.size]);
  found.offsets.reserve(tokens.size + 1);
  found.offsets.push_back(0);
  for (size_t i = 0; i < tokens.size; ++i) {
    const std::span<const uint8_t> token = tokens[i];
    if (!spelled[i]) {
      found.text.insert(found.text.end(), token.begin(), token.end());
    } else {
      for (const uint8_t *p = token.data(), *end = p + token.size(); p < end;) {
        const Decoded letter = decode(p);
        if (letter.code_point >= byte_of.size() || byte_of[letter.code_point] < 0)
          throw std::invalid_argument("a character that is not a byte letter");
        found.text.push_back(static_cast<uint8_t>(byte_of[letter.code_point]));
        p += letter.bytes;
      }
    }
    found.offsets.push_back(found.text.size());
  }
  return found;
}

}  // namespace volt
