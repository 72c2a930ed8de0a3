// Classes of characters, and UTF-8 validation.
#include "base/unicode.hpp"

#include "bindings/arrays.hpp"

using namespace nb::literals;

void register_unicode(nb::module_& m) {
  m.attr("unicode_version") = volt::unicode_version();

  m.def("unicode_class", [](uint32_t code_point) {
    if (code_point >= 0x110000) throw nb::value_error("not a code point");
    return static_cast<int>(volt::char_class(code_point));
  }, "code_point"_a, "0 other, 1 letter, 2 mark, 3 number, 4 white space.");

  m.def("letter_case", [](uint32_t code_point) {
    if (code_point >= 0x110000) throw nb::value_error("not a code point");
    return static_cast<int>(volt::letter_case(code_point));
  }, "code_point"_a, "0 none, 1 upper or title case, 2 lower case.");

  m.def("is_sign", [](uint32_t code_point) {
    if (code_point >= 0x110000) throw nb::value_error("not a code point");
    return volt::is_sign(code_point);
  }, "code_point"_a, "Is it punctuation or a symbol?");

  m.def("find_invalid_utf8", [](nb::handle data) {
    BufferView buffer(data);
    const uint8_t* found = volt::find_invalid_utf8(buffer.data(), buffer.data() + buffer.size());
    return found ? static_cast<int64_t>(found - buffer.data()) : int64_t{-1};
  }, "data"_a, "Offset of the first ill-formed UTF-8 sequence, or -1.");
}
