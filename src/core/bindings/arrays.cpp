#include "bindings/arrays.hpp"

#include "base/unicode.hpp"

void check_encodable(const ArrayIn<uint8_t>& text, const ArrayIn<uint64_t>& offsets, bool bytes_only) {
  check_offsets(offsets, text.size());
  if (bytes_only) return;
  for (size_t i = 0; i + 1 < offsets.size(); ++i)
    if (volt::is_continuation(text.data()[offsets.data()[i]]))
      throw std::invalid_argument("a word that starts inside a character");
  if (volt::find_invalid_utf8(text.data(), text.data() + text.size()))
    throw std::invalid_argument("the words are not valid UTF-8");
}
