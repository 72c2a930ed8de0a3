// Tokens as the lines of volt.json.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace volt {

// The columns of `volt.tokenizing.tokens.Tokens`.
struct TokenColumns {
  const uint8_t* text;
  const uint64_t* offsets;
  const uint8_t* kinds;    // indices of `names`
  const int64_t* parents;  // two per token, -1 where it has none
  const int64_t* ranks;
  const uint8_t* scaffolds;
  const int64_t* frequencies;
  std::vector<std::string> scores;  // as JSON, empty where a token has none; or no element at all
  std::vector<std::string> names;
  size_t size;
};

// JSON objects, one per line, with a comma after each but the last.
std::string write_tokens(const TokenColumns& tokens, uint64_t first_id);

}  // namespace volt
