// Candidates as lines of text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace volt {

// One line per row: its number, its text (escaped as in a counts file) and its numbers, separated by
// tabs.
std::string write_rows(const uint8_t* text, const uint64_t* offsets, const int64_t* numbers, size_t rows,
                       size_t columns);

}  // namespace volt
