// From marks to words: hand the words that boundaries.hpp has marked to a sink, as the scanners of
// scan.hpp do.
#pragma once

#include <cstring>
#include <vector>

#include "boundaries.hpp"

namespace volt {

// The words of whole lines whose bounds are marked; the last line may lack its end. A CR before a line
// end is part of that end.
template <Pretokenizer pretokenizer, class Sink>
void take_marked_lines(const uint8_t* text, const uint8_t* end, const std::vector<uint64_t>& marks,
                       Sink& sink) {
  static constexpr uint8_t kMarkText[] = {0xE2, 0x96, 0x81};
  const uint8_t* word = nullptr;  // where the word that we are in starts
  bool prefix = false;            // and whether a space is understood before it
  bool at_start = true;           // of a line
  const auto take = [&](const uint8_t* stop) {
    if (pretokenizer == Pretokenizer::metaspace && *word == kMarkText[0] && stop - word == 3 &&
        std::memcmp(word, kMarkText, 3) == 0) [[unlikely]]
      return sink.reserved();
    sink(word, stop, prefix, false);
  };
  for (size_t block = 0; block < marks.size(); ++block) {
    for (uint64_t left = marks[block]; left; left &= left - 1) {
      const uint8_t* p = text + 64 * block + __builtin_ctzll(left);
      const bool ends_line = *p == '\n';
      if (word != nullptr) {
        if (p < word) continue;  // inside what the pattern took with an apostrophe
        const uint8_t* stop = ends_line && p[-1] == '\r' ? p - 1 : p;
        if (stop > word) take(stop);
        prefix = false;
      }
      if (ends_line) {
        word = nullptr;
        at_start = true;
        continue;
      }
      word = p;
      if constexpr (pretokenizer == Pretokenizer::metaspace) {
        if (at_start) [[unlikely]] {
          // The space before the text is a word by itself before another, or before U+2581.
          prefix = *p != ' ' && (end - p < 3 || std::memcmp(p, kMarkText, 3) != 0);
          if (!prefix) sink(p, p, true, false);
        }
      } else if (*p == '\'') [[unlikely]] {
        const bool any_case = pretokenizer != Pretokenizer::byte_level;
        if (const ptrdiff_t suffix = any_case ? any_case_contraction(p, end) : contraction(p, end)) {
          sink(p, p + suffix, false, false);
          word = p + suffix;
        }
      }
      at_start = false;
    }
  }
  if (word != nullptr && word < end) take(end);
}

}  // namespace volt
