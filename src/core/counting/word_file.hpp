// Word lists as lines of text: `word<TAB>count`, with tabs, line ends and backslashes escaped.
#pragma once

#include <string>

#include "counting/count.hpp"

namespace volt {

// Append one line.
void append_word(std::string& out, const uint8_t* word, const uint8_t* end, uint64_t count);

std::string write_words(const uint8_t* text, const uint64_t* offsets, const uint64_t* counts,
                        size_t words);

struct ReadResult {
  size_t consumed = 0;      // bytes of whole lines
  uint64_t lines = 0;       // lines read before the bad one, or all
  std::string problem;      // why the next line can't be read; empty if there is none
};

// Add the words of the whole lines in [data, data + bytes) to the counter, each count times `weight`.
ReadResult read_words(Counter& counter, const uint8_t* data, size_t bytes, bool last, uint64_t weight);

}  // namespace volt
