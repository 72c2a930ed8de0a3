// The held-out quality of vocabularies: splits of a corpus, words cut at any size, and the model.
#include <nanobind/stl/tuple.h>

#include "base/unicode.hpp"
#include "bindings/released.hpp"
#include "bindings/arrays.hpp"
#include "bindings/convert.hpp"
#include "choosing/kneser_ney.hpp"
#include "choosing/thin.hpp"
#include "proposing/cuts.hpp"

using namespace nb::literals;

namespace {

Array<uint64_t> thin(const ArrayIn<uint8_t>& text, const ArrayIn<uint64_t>& offsets,
                     const ArrayIn<uint64_t>& counts, uint64_t seed, uint64_t split) {
  check_words(text, offsets, counts);
  std::vector<uint64_t> held;
  {
    Released release;
    held = volt::thin({text.data(), offsets.data(), counts.data(), counts.size()}, seed, split);
  }
  return to_numpy(std::move(held));
}

Array<int64_t> find_words(const ArrayIn<uint8_t>& text, const ArrayIn<uint64_t>& offsets,
                          const ArrayIn<uint8_t>& part_text, const ArrayIn<uint64_t>& part_offsets) {
  check_offsets(offsets, text.size());
  check_offsets(part_offsets, part_text.size());
  std::vector<int64_t> rows;
  {
    Released release;
    rows = volt::find_words({text.data(), offsets.data(), nullptr, offsets.size() - 1},
                            {part_text.data(), part_offsets.data(), nullptr, part_offsets.size() - 1});
  }
  return to_numpy(std::move(rows));
}

// ------------------------------------------------------------------------------------------------ cuts

volt::MergeView check_merges(const ArrayIn<uint32_t>& left, const ArrayIn<uint32_t>& right,
                             size_t alphabet) {
  check_parents(left, right, alphabet + left.size());
  return {left.data(), right.data(), alphabet, left.size()};
}

Cut cut_by_merges(const ArrayIn<uint8_t>& text, const ArrayIn<uint64_t>& offsets,
                  const ArrayIn<uint32_t>& characters, const ArrayIn<uint8_t>& ends,
                  const ArrayIn<uint32_t>& left, const ArrayIn<uint32_t>& right, const std::string& pretokenizer,
                  int64_t unknown, bool byte_fallback, unsigned threads) {
  const volt::Pretokenizer mode = pretokenizer_of(pretokenizer);
  const bool byte_level = volt::is_byte_level(mode);
  check_encodable(text, offsets, byte_level);
  check_size(ends.size(), characters.size());
  if (threads == 0) throw std::invalid_argument("no threads");
  const volt::MergeView merges = check_merges(left, right, characters.size());
  for (size_t s = 0; s < characters.size(); ++s)
    if (characters.data()[s] > 0x10FFFF && characters.data()[s] != volt::kNoToken)
      throw std::invalid_argument("a symbol that is not a character");
  const volt::SymbolView symbols{characters.data(), ends.data(), characters.size(), byte_level,
                                 mode == volt::Pretokenizer::whitespace};
  volt::CutWords cut;
  {
    Released release;
    cut = volt::cut_by_merges({text.data(), offsets.data(), nullptr, offsets.size() - 1}, symbols, merges,
                              unknown_character(unknown, byte_fallback, merges.alphabet + merges.merges, mode),
                              threads);
  }
  return cut_to_numpy(std::move(cut));
}

Cut undo_merges(const ArrayIn<uint32_t>& tokens, const ArrayIn<uint64_t>& offsets, const ArrayIn<uint32_t>& left,
                const ArrayIn<uint32_t>& right, size_t alphabet, size_t row) {
  check_offsets(offsets, tokens.size(), true);
  const volt::MergeView merges = check_merges(left, right, alphabet);
  if (row > merges.merges) throw std::invalid_argument("there are not so many merges");
  volt::CutWords cut;
  {
    Released release;
    cut = volt::undo_merges(tokens.data(), offsets.data(), offsets.size() - 1, merges, row);
  }
  return cut_to_numpy(std::move(cut));
}

// --------------------------------------------------------------------------------------------- the model

std::tuple<double, uint64_t> kneser_ney(const ArrayIn<uint32_t>& tokens, const ArrayIn<uint64_t>& offsets,
                                        const ArrayIn<uint64_t>& train, const ArrayIn<uint64_t>& held,
                                        uint64_t rows, unsigned order, bool ends) {
  check_offsets(offsets, tokens.size(), true);
  check_size(offsets.size(), train.size() + 1);
  check_size(held.size(), train.size());
  if (order < 1 || order > volt::kHighestOrder) throw std::invalid_argument("the order is 1 to 6");
  if (rows == 0) throw std::invalid_argument("no rows");
  volt::HeldOutLoss loss;
  {
    Released release;
    loss = volt::kneser_ney({tokens.data(), offsets.data(), train.data(), held.data(), train.size()},
                            {rows, order, ends});
  }
  return {loss.nats, loss.predicted};
}

}  // namespace

void register_quality(nb::module_& m) {
  m.def("thin", &thin, "text"_a, "offsets"_a, "counts"_a, "seed"_a, "split"_a,
        "How many occurrences of each word are held out.");
  m.def("find_words", &find_words, "text"_a, "offsets"_a, "part_text"_a, "part_offsets"_a,
        "The row of each word of the part among the words; -1 if it is not there.");
  m.def("cut_by_merges", &cut_by_merges, "text"_a, "offsets"_a, "characters"_a, "ends"_a, "left"_a, "right"_a,
        "pretokenizer"_a, "unknown"_a, "byte_fallback"_a, "threads"_a,
        "The words cut by all merges: tokens and offsets.");
  m.def("undo_merges", &undo_merges, "tokens"_a, "offsets"_a, "left"_a, "right"_a, "alphabet"_a, "row"_a,
        "The words cut by the first `row` merges only.");
  m.def("kneser_ney", &kneser_ney, "tokens"_a, "offsets"_a, "train"_a, "held"_a, "rows"_a, "order"_a, "ends"_a,
        "The held-out loss in nats, and how many tokens were predicted.");
}
