#include "proposing/candidate_file.hpp"

#include "base/stop.hpp"
#include "base/text_rows.hpp"

namespace volt {

std::string write_rows(const uint8_t* text, const uint64_t* offsets, const int64_t* numbers, size_t rows,
                       size_t columns) {
  std::string out;
  out.reserve(offsets[rows] + rows * (columns + 1) * 8);
  for (size_t row = 0; row < rows; ++row) {
    poll();
    append_number(out, row);
    out += '\t';
    append_escaped(out, text + offsets[row], text + offsets[row + 1]);
    for (size_t column = 0; column < columns; ++column) {
      out += '\t';
      append_number(out, numbers[row * columns + column]);
    }
    out += '\n';
  }
  return out;
}

}  // namespace volt
