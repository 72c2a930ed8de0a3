// Word lists as lines of text: `word<TAB>count`, with tab, line ends and backslash escaped.
#pragma once

#include <string>
#include <vector>

#include "count.hpp"

namespace volt {

// Append one line.
void append_word(std::string& out, const uint8_t* word, const uint8_t* end, uint64_t count);

std::string write_words(const uint8_t* text, const uint64_t* offsets, const uint64_t* counts,
                        size_t words);

// Rows of a table: the number of the row, its text (escaped likewise), its numbers.
std::string write_rows(const uint8_t* text, const uint64_t* offsets, const int64_t* numbers, size_t rows,
                       size_t columns);

// Tokens as JSON objects, a line each, with a comma between: the columns of `volt.tokens.Tokens`.
struct TokenColumns {
  const uint8_t* text;
  const uint64_t* offsets;
  const uint8_t* kinds;         // indices of `names`
  const int64_t* parents;       // two a token, -1 where it has none
  const int64_t* ranks;
  const uint8_t* scaffolds;
  const int64_t* frequencies;
  std::vector<std::string> scores;  // as JSON, empty where there is none; or no element at all
  std::vector<std::string> names;
  size_t size;
};
std::string write_tokens(const TokenColumns& tokens, uint64_t first_id);

struct ReadResult {
  size_t consumed = 0;      // bytes of whole lines
  uint64_t lines = 0;       // lines read before the bad one, or all
  std::string problem;      // why the next line can't be read; empty: all is well
};

// Add the words of the whole lines in [data, data + bytes) to the counter, each count times `weight`.
ReadResult read_words(Counter& counter, const uint8_t* data, size_t bytes, bool last, uint64_t weight);

}  // namespace volt
