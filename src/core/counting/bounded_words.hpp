// Words from their boundaries: hands the words that boundaries.hpp has found to a sink, as the
// scanners of scan.hpp do. A sink here also has reserved(), for a U+2581 of the text, and end_line().
#pragma once

#include <vector>

#include "counting/boundaries.hpp"

namespace volt {

// What ends a line: nothing, so that LF is text like any other; LF; or LF with a CR before it, if
// there is one.
enum class LineEnds { none, plain, trimmed };

template <Pretokenizer pretokenizer, LineEnds line_ends, class Sink>
void take_bounded_words(const uint8_t* text, const uint8_t* end, const std::vector<uint64_t>& bounds,
                        bool& at_start, Sink& sink, bool runs) {
  const uint8_t* word = nullptr;  // start of the word we are in
  bool prefix = false;            // does it start with a space that is not in the text?
  const auto take = [&](const uint8_t* stop) {
    if (pretokenizer == Pretokenizer::metaspace && *word == kSpaceMarkText[0] &&
        stop - word == kSpaceMarkBytes && starts_with_mark(word, stop)) [[unlikely]]
      return sink.reserved();
    sink(word, stop, pretokenizer == Pretokenizer::metaspace && prefix, false);
  };
  for (size_t block = 0; block < bounds.size(); ++block) {
    for (uint64_t left = bounds[block]; left; left &= left - 1) {
      const uint8_t* p = text + 64 * block + __builtin_ctzll(left);
      const bool ends_line = line_ends != LineEnds::none && *p == '\n';
      if constexpr (pretokenizer == Pretokenizer::whitespace) {
        // Starts and ends alternate, but for line ends.
        if (word != nullptr) {
          take(p);
          word = nullptr;
        } else if (!ends_line) {
          word = p;
        }
        if (ends_line) sink.end_line();
        continue;
      }
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
      } else if constexpr (pretokenizer == Pretokenizer::metaspace) {
        if (at_start) [[unlikely]] {
          at_start = false;
          // The space before the text is a word of its own if U+2581 follows, or a space, except where
          // `runs` of them belong to one word.
          prefix = (runs || *p != ' ') && !starts_with_mark(p, end);
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

// The words of a text, or of whole lines of which the last may lack its end. `at_start`: whether a
// space is added before the first word, and afterwards whether one is added before the next text.
// `runs`: metaspace words end before runs of spaces.
template <LineEnds line_ends, class Sink>
void take_bounded_words(Pretokenizer pretokenizer, const uint8_t* text, const uint8_t* end,
                        const std::vector<uint64_t>& bounds, bool& at_start, Sink& sink, bool runs = false) {
  const auto take = [&]<Pretokenizer known>() {
    take_bounded_words<known, line_ends>(text, end, bounds, at_start, sink, runs);
  };
  switch (pretokenizer) {
    case Pretokenizer::whitespace: return take.template operator()<Pretokenizer::whitespace>();
    case Pretokenizer::metaspace: return take.template operator()<Pretokenizer::metaspace>();
    case Pretokenizer::byte_level:
    case Pretokenizer::starcoder: return take.template operator()<Pretokenizer::byte_level>();
    default: return take.template operator()<Pretokenizer::llama3>();  // the same for all patterns
  }
}

}  // namespace volt
