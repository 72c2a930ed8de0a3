// Merges -> the corpus at every size, and frequencies when only some tokens may be used.
#include "proposing/curve.hpp"

#include "bindings/released.hpp"
#include "bindings/arrays.hpp"

using namespace nb::literals;

namespace {

void check_rows(const ArrayIn<uint64_t>& rows, size_t merges) {
  for (size_t i = 0; i < rows.size(); ++i)
    if (rows.data()[i] > merges || (i > 0 && rows.data()[i] <= rows.data()[i - 1]))
      throw std::invalid_argument("rows must rise and lie within the merges");
}

nb::dict curve_sums(const ArrayIn<uint64_t>& alphabet_counts, const ArrayIn<uint32_t>& lengths,
                    const ArrayIn<uint32_t>& left, const ArrayIn<uint32_t>& right,
                    const ArrayIn<uint64_t>& merge_counts, const ArrayIn<uint64_t>& rows, uint64_t often) {
  const size_t merges = left.size(), alphabet = alphabet_counts.size();
  check_size(merge_counts.size(), merges);
  check_size(lengths.size(), alphabet + merges);
  check_parents(left, right, alphabet + merges);
  check_rows(rows, merges);
  volt::CurveSums c;
  {
    Released release;
    c = volt::curve_sums(alphabet_counts.data(), alphabet, lengths.data(), left.data(), right.data(),
                         merge_counts.data(), rows.data(), rows.size(), often);
  }
  nb::dict out;
  out["tokens"] = to_numpy(std::move(c.tokens));
  out["types"] = to_numpy(std::move(c.types));
  out["type_length"] = to_numpy(std::move(c.type_length));
  out["f_ln_f"] = to_numpy(std::move(c.f_ln_f));
  out["f_power"] = to_numpy(std::move(c.f_power));
  out["frequent"] = to_numpy(std::move(c.frequent));
  return out;
}

Array<double> zipf_fit(const ArrayIn<uint64_t>& alphabet_counts, const ArrayIn<uint32_t>& left,
                       const ArrayIn<uint32_t>& right, const ArrayIn<uint64_t>& merge_counts,
                       const ArrayIn<uint64_t>& rows) {
  const size_t merges = left.size(), alphabet = alphabet_counts.size();
  check_size(merge_counts.size(), merges);
  check_parents(left, right, alphabet + merges);
  check_rows(rows, merges);
  std::vector<double> scores;
  {
    Released release;
    scores = volt::zipf_fit(alphabet_counts.data(), alphabet, left.data(), right.data(),
                            merge_counts.data(), rows.data(), rows.size());
  }
  return to_numpy(std::move(scores));
}

void push_down(const ArrayIn<uint32_t>& left, const ArrayIn<uint32_t>& right, const ArrayIn<uint8_t>& keep,
               ArrayOut<uint64_t> frequency) {
  const size_t tokens = keep.size();
  check_size(frequency.size(), tokens);
  check_parents(left, right, tokens);
  Released release;
  volt::push_down(left.data(), right.data(), tokens - left.size(), left.size(), keep.data(), frequency.data());
}

void closure(const ArrayIn<uint32_t>& left, const ArrayIn<uint32_t>& right, ArrayOut<uint8_t> marked) {
  check_parents(left, right, marked.size());
  volt::closure(left.data(), right.data(), marked.size() - left.size(), left.size(), marked.data());
}

}  // namespace

void register_curve(nb::module_& m) {
  m.def("curve_sums", &curve_sums, "alphabet_counts"_a, "lengths"_a, "left"_a, "right"_a,
        "merge_counts"_a, "rows"_a, "often"_a);
  m.def("zipf_fit", &zipf_fit, "alphabet_counts"_a, "left"_a, "right"_a, "merge_counts"_a, "rows"_a);
  m.def("push_down", &push_down, "left"_a, "right"_a, "keep"_a, "frequency"_a);
  m.def("closure", &closure, "left"_a, "right"_a, "marked"_a);
}
