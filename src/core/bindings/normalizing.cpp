// Text -> normalized text.
#include <algorithm>
#include <string>
#include <vector>

#include "bindings/released.hpp"
#include "bindings/arrays.hpp"
#include "tokenizing/character_map.hpp"

using namespace nb::literals;

namespace {

// The UTF-8 of a string; it lives as long as the string does.
std::pair<const uint8_t*, size_t> utf8_of(nb::handle text) {
  Py_ssize_t bytes = 0;
  const char* utf8 = PyUnicode_AsUTF8AndSize(text.ptr(), &bytes);
  if (utf8 == nullptr) throw nb::python_error();
  return {reinterpret_cast<const uint8_t*>(utf8), static_cast<size_t>(bytes)};
}

nb::object to_string(const std::string& text) {
  PyObject* made = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "strict");
  if (made == nullptr) throw nb::python_error();
  return nb::steal(made);
}

void make_map(volt::CharacterMap* self, const nb::bytes& table) {
  new (self) volt::CharacterMap(reinterpret_cast<const uint8_t*>(table.c_str()), table.size());
}

nb::object map_text(const volt::CharacterMap& self, nb::str text) {
  const auto [begin, bytes] = utf8_of(text);
  std::string out;
  return self.map(begin, begin + bytes, out) ? to_string(out) : nb::borrow(text);
}

nb::object clean(const volt::CharacterMap& self, nb::str text, bool trims) {
  const auto [begin, bytes] = utf8_of(text);
  std::string out;
  return self.clean(begin, begin + bytes, trims, out) ? to_string(out) : nb::borrow(text);
}

nb::list clean_all(const volt::CharacterMap& self, nb::list texts, bool trims) {
  nb::list found;
  std::string out;
  for (nb::handle text : texts) {
    if (!PyUnicode_Check(text.ptr())) throw nb::type_error("a text that is not a string");
    const auto [begin, bytes] = utf8_of(text);
    found.append(self.clean(begin, begin + bytes, trims, out) ? to_string(out) : nb::borrow(text));
  }
  return found;
}

// Every line of a text of valid UTF-8 by itself.
nb::bytes clean_lines(const volt::CharacterMap& self, nb::handle data, bool trims) {
  BufferView buffer(data);
  std::string all;
  {
    Released release;
    const char *p = reinterpret_cast<const char*>(buffer.data()), *end = p + buffer.size();
    std::string out;
    all.reserve(buffer.size());
    for (;;) {
      const char* stop = std::find(p, end, '\n');
      const auto* text = reinterpret_cast<const uint8_t*>(p);
      if (self.clean(text, text + (stop - p), trims, out)) all += out;
      else all.append(p, stop);
      if (stop == end) break;
      all += '\n';
      p = stop + 1;
    }
  }
  return nb::bytes(all.data(), all.size());
}

}  // namespace

void register_normalizing(nb::module_& m) {
  nb::class_<volt::CharacterMap>(m, "CharacterMap", "The normalizer of a SentencePiece model.")
      .def("__init__", &make_map, "table"_a)
      .def("map", &map_text, "text"_a, "The text with the rules of the table applied, the longest first.")
      .def("clean", &clean, "text"_a, "trims"_a, "The table, and the spaces of SentencePiece.")
      .def("clean_all", &clean_all, "texts"_a, "trims"_a)
      .def("clean_lines", &clean_lines, "data"_a, "trims"_a);
}
