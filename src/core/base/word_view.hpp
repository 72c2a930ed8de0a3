// The words of a corpus, as arrays that somebody else owns.
#pragma once

#include <cstddef>
#include <cstdint>

namespace volt {

// Word w is text[offsets[w]..offsets[w+1]) and occurs counts[w] times. Code that only reads the texts
// accepts words without counts.
struct WordView {
  const uint8_t* text;
  const uint64_t* offsets;
  const uint64_t* counts;
  size_t words;

  const uint8_t* begin(size_t w) const { return text + offsets[w]; }
  const uint8_t* end(size_t w) const { return text + offsets[w + 1]; }
  size_t bytes(size_t w) const { return offsets[w + 1] - offsets[w]; }
};

}  // namespace volt
