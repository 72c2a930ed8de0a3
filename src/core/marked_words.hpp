// From marks to words: hand the words that boundaries.hpp has marked to a sink, as the scanners of
// scan.hpp do.
#pragma once

#include <cstring>
#include <vector>

#include "boundaries.hpp"

namespace volt {

// What ends a line: nothing, LF is text like any other; LF; LF with a CR before it, if there is one.
enum class LineEnds { none, plain, trimmed };

template <Pretokenizer pretokenizer, LineEnds line_ends, class Sink>
void take_marked_words(const uint8_t* text, const uint8_t* end, const std::vector<uint64_t>& marks,
                       bool& at_start, Sink& sink) {
  static constexpr uint8_t kMarkText[] = {0xE2, 0x96, 0x81};
  const uint8_t* word = nullptr;  // where the word that we are in starts
  bool prefix = false;            // and whether a space is understood before it
  const auto take = [&](const uint8_t* stop) {
    if (pretokenizer == Pretokenizer::metaspace && *word == kMarkText[0] && stop - word == 3 &&
        std::memcmp(word, kMarkText, 3) == 0) [[unlikely]]
      return sink.reserved();
    sink(word, stop, prefix, false);
  };
  for (size_t block = 0; block < marks.size(); ++block) {
    for (uint64_t left = marks[block]; left; left &= left - 1) {
      const uint8_t* p = text + 64 * block + __builtin_ctzll(left);
      const bool ends_line = line_ends != LineEnds::none && *p == '\n';
      if (word != nullptr) {
        if (p < word) continue;  // inside what the pattern took with an apostrophe
        const bool trims = line_ends == LineEnds::trimmed && ends_line && p[-1] == '\r';
        if (const uint8_t* stop = trims ? p - 1 : p; stop > word) take(stop);
        prefix = false;
      }
      word = p;
      if (ends_line) {
        sink.end_line();
        at_start = true;
        word = nullptr;
      } else if constexpr (pretokenizer == Pretokenizer::whitespace) {
        if (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n') word = nullptr;
      } else if constexpr (pretokenizer == Pretokenizer::metaspace) {
        if (at_start) [[unlikely]] {
          at_start = false;
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
    }
  }
  if (word != nullptr && word < end) take(end);
}

// The words of a text, or of whole lines of which the last may lack its end, whose bounds are marked.
// `at_start`: whether a space is understood before the first, and before the next text's first.
template <LineEnds line_ends, class Sink>
void take_marked_words(Pretokenizer pretokenizer, const uint8_t* text, const uint8_t* end,
                       const std::vector<uint64_t>& marks, bool& at_start, Sink& sink) {
  const auto take = [&]<Pretokenizer known>() {
    take_marked_words<known, line_ends>(text, end, marks, at_start, sink);
  };
  switch (pretokenizer) {
    case Pretokenizer::whitespace: return take.template operator()<Pretokenizer::whitespace>();
    case Pretokenizer::metaspace: return take.template operator()<Pretokenizer::metaspace>();
    case Pretokenizer::byte_level: return take.template operator()<Pretokenizer::byte_level>();
    default: return take.template operator()<Pretokenizer::llama3>();  // all patterns alike
  }
}

}  // namespace volt
