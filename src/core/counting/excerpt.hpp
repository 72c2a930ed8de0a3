// Which lines of a text are in its excerpt. volt.counting.excerpts says what for.
#pragma once

#include <cstdint>
#include <vector>

#include "base/stop.hpp"
#include "counting/lines.hpp"

namespace volt {

// Is a line taken at a level? Each level has half the lines of the one below. The hash is the finalizer of
// SplitMix64.
inline bool is_taken(uint64_t number, unsigned level) {
  uint64_t mixed = number + 0x9E3779B97F4A7C15ull;
  mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9ull;
  mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EBull;
  mixed ^= mixed >> 31;
  return (mixed & ((uint64_t{1} << level) - 1)) == 0;
}

struct TakenLines {
  uint64_t lines = 0, complete = 0;  // how many end, and where the last one does
  std::vector<uint64_t> numbers, begins, ends;
};

// The lines that end in this part of a text. One pass without arrays of all lines: 45 ms for 400 MB of
// Europarl, not 139 ms.
inline TakenLines take_lines(const uint8_t* begin, const uint8_t* end, uint64_t first, unsigned level) {
  TakenLines found;
  for (const uint8_t* p = begin; p < end;) {
    const uint8_t* next = next_line_end(p, end);
    if (next[-1] != '\n') break;  // the last one has no end
    if (is_taken(first + found.lines, level)) {
      found.numbers.push_back(first + found.lines);
      found.begins.push_back(static_cast<uint64_t>(p - begin));
      found.ends.push_back(static_cast<uint64_t>(next - begin));
    }
    p = next;
    if (++found.lines % 4096 == 0) poll_now();
    found.complete = static_cast<uint64_t>(p - begin);
  }
  return found;
}

}  // namespace volt
