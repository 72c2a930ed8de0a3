// Words, candidates and tokens as text.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/released.hpp"
#include "bindings/arrays.hpp"
#include "counting/word_file.hpp"
#include "proposing/candidate_file.hpp"
#include "tokenizing/token_block.hpp"
#include "tokenizing/token_file.hpp"

using namespace nb::literals;

namespace {

// What `write` makes.
template <class Write>
nb::bytes to_bytes(Write&& write) {
  std::string text;
  {
    Released release;
    text = write();
  }
  return nb::bytes(text.data(), text.size());
}

template <class Id>
void put_ends(const ArrayIn<uint32_t>& ids, const ArrayIn<int64_t>& stops, uint32_t eos,
              const ArrayOut<Id>& out) {
  const size_t size = ids.size(), ends = stops.size();
  check_size(out.size(), size + ends);
  int64_t before = 0;
  for (size_t i = 0; i < ends; before = stops.data()[i++])
    if (stops.data()[i] < before || stops.data()[i] > static_cast<int64_t>(size))
      throw std::invalid_argument("places out of order");
  Released release;
  volt::put_ends(ids.data(), size, stops.data(), ends, static_cast<Id>(eos), out.data());
}

nb::bytes write_words(const ArrayIn<uint8_t>& text, const ArrayIn<uint64_t>& offsets,
                      const ArrayIn<uint64_t>& counts) {
  check_words(text, offsets, counts);
  return to_bytes([&] { return volt::write_words(text.data(), offsets.data(), counts.data(), counts.size()); });
}

nb::bytes write_rows(const ArrayIn<uint8_t>& text, const ArrayIn<uint64_t>& offsets,
                     const ArrayIn<int64_t>& numbers) {
  check_offsets(offsets, text.size());
  const size_t rows = offsets.size() - 1;
  if (rows == 0 ? numbers.size() != 0 : numbers.size() % rows != 0)
    throw std::invalid_argument("every row must have the same number of numbers");
  const size_t columns = rows == 0 ? 0 : numbers.size() / rows;
  return to_bytes([&] { return volt::write_rows(text.data(), offsets.data(), numbers.data(), rows, columns); });
}

nb::bytes write_tokens(const ArrayIn<uint8_t>& text, const ArrayIn<uint64_t>& offsets,
                       const ArrayIn<uint8_t>& kinds, const ArrayIn<int64_t>& parents,
                       const ArrayIn<int64_t>& ranks, const ArrayIn<uint8_t>& scaffolds,
                       const ArrayIn<int64_t>& frequencies, std::vector<std::string> scores,
                       std::vector<std::string> names, uint64_t first_id) {
  check_offsets(offsets, text.size(), true);
  const size_t size = offsets.size() - 1;
  for (const size_t column : {kinds.size(), ranks.size(), scaffolds.size(), frequencies.size()})
    check_size(column, size);
  check_size(parents.size(), 2 * size);
  if (!scores.empty()) check_size(scores.size(), size);
  for (size_t row = 0; row < size; ++row)
    if (kinds.data()[row] >= names.size()) throw std::invalid_argument("a kind without a name");
  return to_bytes([&] {
    return volt::write_tokens({text.data(), offsets.data(), kinds.data(), parents.data(), ranks.data(),
                               scaffolds.data(), frequencies.data(), std::move(scores), std::move(names), size},
                              first_id);
  });
}

}  // namespace

void register_files(nb::module_& m) {
  const char* about = "Write the ids to `out`, with eos before each of the places.";
  m.def("put_ends", &put_ends<uint16_t>, "ids"_a, "stops"_a, "eos"_a, nb::arg("out").noconvert(), about);
  m.def("put_ends", &put_ends<uint32_t>, "ids"_a, "stops"_a, "eos"_a, nb::arg("out").noconvert(), about);
  m.def("put_ends", &put_ends<int32_t>, "ids"_a, "stops"_a, "eos"_a, nb::arg("out").noconvert(), about);
  m.def("write_words", &write_words, "text"_a, "offsets"_a, "counts"_a, "Lines `word<TAB>count`.");
  m.def("write_rows", &write_rows, "text"_a, "offsets"_a, "numbers"_a,
        "Lines of row number, text and numbers, separated by tabs.");
  m.def("write_tokens", &write_tokens, "text"_a, "offsets"_a, "kinds"_a, "parents"_a, "ranks"_a,
        "scaffolds"_a, "frequencies"_a, "scores"_a, "names"_a, "first_id"_a,
        "Tokens as JSON objects, one per line.");
}
