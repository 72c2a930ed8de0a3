// The texts of all tokens at once, and the tokens of a tokenizer.json.
#include <nanobind/stl/string.h>

#include "base/unicode.hpp"
#include "bindings/released.hpp"
#include "bindings/arrays.hpp"
#include "bindings/convert.hpp"
#include "tokenizing/token_texts.hpp"
#include "tokenizing/tokenizer_json.hpp"

using namespace nb::literals;

namespace {

volt::PackedTexts packed(const ArrayIn<uint8_t>& text, const ArrayIn<uint64_t>& offsets) {
  check_offsets(offsets, text.size(), true);
  return {text.data(), offsets.data(), offsets.size() - 1};
}

Array<uint8_t> cut_inside(const ArrayIn<uint8_t>& text, const ArrayIn<uint64_t>& offsets,
                          const std::string& pretokenizer) {
  return to_numpy(volt::cut_inside(pretokenizer_of(pretokenizer), packed(text, offsets)));
}

size_t find_unjoined(const ArrayIn<uint8_t>& text, const ArrayIn<uint64_t>& offsets,
                     const ArrayIn<int64_t>& parents) {
  const volt::PackedTexts tokens = packed(text, offsets);
  check_size(parents.size(), 2 * tokens.size);
  for (size_t i = 0; i < parents.size(); ++i)
    if (parents.data()[i] >= static_cast<int64_t>(tokens.size) ||
        (i % 2 == 1 && (parents.data()[i] < 0) != (parents.data()[i - 1] < 0)))
      throw std::invalid_argument("a parent that is not a token");
  return volt::find_unjoined(tokens, parents.data());
}

nb::tuple letter_bytes(const ArrayIn<uint8_t>& text, const ArrayIn<uint64_t>& offsets,
                       const ArrayIn<uint8_t>& spelled) {
  const volt::PackedTexts tokens = packed(text, offsets);
  check_size(spelled.size(), tokens.size);
  for (size_t i = 0; i < tokens.size; ++i)
    if (!tokens[i].empty() && volt::is_continuation(tokens[i][0]))
      throw std::invalid_argument("a token that starts inside a character");
  if (volt::find_invalid_utf8(text.data(), text.data() + text.size()))
    throw std::invalid_argument("the tokens are not valid UTF-8");
  volt::Letters found = volt::letter_bytes(tokens, spelled.data());
  return nb::make_tuple(to_numpy(std::move(found.text)), to_numpy(std::move(found.offsets)));
}

nb::list texts_of(const ArrayIn<uint8_t>& text, const ArrayIn<uint64_t>& offsets) {
  const volt::PackedTexts tokens = packed(text, offsets);
  nb::object texts = nb::steal(PyList_New(static_cast<Py_ssize_t>(tokens.size)));
  if (!texts.is_valid()) throw nb::python_error();
  for (size_t i = 0; i < tokens.size; ++i) {
    const auto* begin = reinterpret_cast<const char*>(text.data() + offsets.data()[i]);
    const uint64_t bytes = offsets.data()[i + 1] - offsets.data()[i];
    PyObject* made = PyUnicode_DecodeUTF8(begin, static_cast<Py_ssize_t>(bytes), "strict");
    if (made == nullptr) throw nb::python_error();
    PyList_SetItem(texts.ptr(), static_cast<Py_ssize_t>(i), made);  // takes the reference
  }
  return nb::borrow<nb::list>(texts);
}

nb::object split_tokenizer_json(nb::bytes data) {
  std::optional<volt::TokenizerJson> found;
  {
    Released release;
    found = volt::split_tokenizer_json(static_cast<const uint8_t*>(data.data()), data.size());
  }
  if (!found) return nb::none();
  return nb::make_tuple(nb::bytes(found->rest.data(), found->rest.size()), to_numpy(std::move(found->text)),
                        to_numpy(std::move(found->offsets)), to_numpy(std::move(found->ids)),
                        to_numpy(std::move(found->joins)));
}

}  // namespace

void register_tokens(nb::module_& m) {
  m.def("cut_inside", &cut_inside, "text"_a, "offsets"_a, "pretokenizer"_a,
        "Which tokens are whole characters, and more than one word.");
  m.def("show_text", [](const ArrayIn<uint8_t>& text, const ArrayIn<uint64_t>& offsets) {
    return to_numpy(volt::show_text(packed(text, offsets)));
  }, "text"_a, "offsets"_a, "Which tokens have a character that is not blank.");
  m.def("find_unjoined", &find_unjoined, "text"_a, "offsets"_a, "parents"_a,
        "The first token that is not its two parents joined, or the number of tokens.");
  m.def("letter_bytes", &letter_bytes, "text"_a, "offsets"_a, "spelled"_a,
        "Tokens in byte letters as bytes; those that are not spelled stay.");
  m.def("texts_of", &texts_of, "text"_a, "offsets"_a, "The texts, which must be valid UTF-8, as strings.");
  m.def("split_tokenizer_json", &split_tokenizer_json, "data"_a,
        "A tokenizer.json: the rest of it, tokens, offsets, ids, and merges as (left, right, made). None if it\n"
        "is laid out in another way.");
}
