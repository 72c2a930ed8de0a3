// Pieces of text files: numbers, and text whose tabs, line ends and backslashes are escaped.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>

namespace volt {

inline char escape_of(uint8_t byte) {
  switch (byte) {
    case '\t': return 't';
    case '\n': return 'n';
    case '\r': return 'r';
    case '\\': return '\\';
    default: return 0;
  }
}

inline void append_escaped(std::string& out, const uint8_t* text, const uint8_t* end) {
  for (; text < end; ++text) {
    if (const char escape = escape_of(*text)) {
      out += '\\';
      out += escape;
    } else {
      out += static_cast<char>(*text);
    }
  }
}

template <class Number>
void append_number(std::string& out, Number number) {
  char digits[20];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

}  // namespace volt
