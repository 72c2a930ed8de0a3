// Words -> merges.
#include "bindings/released.hpp"
#include "bindings/arrays.hpp"
#include "base/unicode.hpp"
#include "bindings/convert.hpp"
#include "proposing/likelihood.hpp"
#include "proposing/merge.hpp"

using namespace nb::literals;

namespace {

nb::dict learn_merges(const ArrayIn<uint8_t>& text, const ArrayIn<uint64_t>& offsets,
                      const ArrayIn<uint64_t>& counts, const std::string& pretokenizer, uint64_t merges,
                      double coverage, uint32_t max_token_length, uint64_t min_frequency, unsigned threads,
                      const Progress& progress) {
  check_words(text, offsets, counts);
  const volt::MergeOptions options{pretokenizer_of(pretokenizer), merges,        coverage,
                                   max_token_length,              min_frequency, threads};
  if (!volt::is_byte_level(options.pretokenizer) &&
      volt::find_invalid_utf8(text.data(), text.data() + text.size()) != nullptr)
    throw std::invalid_argument("the words are not valid UTF-8");
  volt::MergeResult r;
  {
    Released release;
    r = volt::learn_merges({text.data(), offsets.data(), counts.data(), counts.size()}, options,
                           interruptible(progress));
  }
  nb::dict out;
  out["text"] = to_numpy(std::move(r.text));
  out["offsets"] = to_numpy(std::move(r.offsets));
  out["word_final"] = to_numpy(std::move(r.word_final));
  out["lengths"] = to_numpy(std::move(r.lengths));
  out["alphabet_counts"] = to_numpy(std::move(r.alphabet_counts));
  out["unknown"] = r.unknown;
  out["left_out"] = r.left_out;
  out["left"] = to_numpy(std::move(r.left));
  out["right"] = to_numpy(std::move(r.right));
  out["pair_counts"] = to_numpy(std::move(r.pair_counts));
  out["merge_counts"] = to_numpy(std::move(r.merge_counts));
  out["whole_words"] = to_numpy(std::move(r.whole_words));
  return out;
}

nb::dict likelihood_merges(const ArrayIn<uint32_t>& symbols, const ArrayIn<uint64_t>& offsets,
                           const ArrayIn<uint64_t>& counts, const ArrayIn<uint8_t>& alphabet,
                           const ArrayIn<uint64_t>& alphabet_offsets, const ArrayIn<uint8_t>& marked,
                           int64_t unknown, const std::string& mark, uint64_t merges,
                           uint32_t max_token_length, uint64_t min_frequency, const Progress& progress) {
  check_size(offsets.size(), counts.size() + 1);
  check_size(alphabet_offsets.size(), marked.size() + 1);
  check_offsets(alphabet_offsets, alphabet.size());
  check_offsets(offsets, symbols.size(), true);
  for (size_t i = 0; i < symbols.size(); ++i)
    if (symbols.data()[i] >= marked.size()) throw std::invalid_argument("there is no such symbol");
  std::vector<std::string> texts;
  for (size_t s = 0; s < marked.size(); ++s)
    texts.emplace_back(reinterpret_cast<const char*>(alphabet.data()) + alphabet_offsets.data()[s],
                       alphabet_offsets.data()[s + 1] - alphabet_offsets.data()[s]);
  const volt::LikelihoodOptions options{
      merges, min_frequency, max_token_length,
      unknown < 0 ? volt::kNoToken : static_cast<uint32_t>(unknown), word_mark_of(mark)};
  volt::LikelihoodMerges r;
  {
    Released release;
    r = volt::likelihood_merges({symbols.data(), offsets.data(), counts.data(), counts.size()},
                                std::move(texts), {marked.data(), marked.data() + marked.size()}, options,
                                interruptible(progress));
  }
  nb::dict out;
  out["left"] = to_numpy(std::move(r.left));
  out["right"] = to_numpy(std::move(r.right));
  out["pair_counts"] = to_numpy(std::move(r.pair_counts));
  out["merge_counts"] = to_numpy(std::move(r.merge_counts));
  out["tokens"] = to_numpy(std::move(r.tokens));
  out["offsets"] = to_numpy(std::move(r.offsets));
  return out;
}

}  // namespace

void register_merging(nb::module_& m) {
  m.def("learn_merges", &learn_merges, "text"_a, "offsets"_a, "counts"_a, "pretokenizer"_a, "merges"_a,
        "coverage"_a, "max_token_length"_a, "min_frequency"_a, "threads"_a, "progress"_a);
  m.def("likelihood_merges", &likelihood_merges, "symbols"_a, "offsets"_a, "counts"_a, "alphabet"_a,
        "alphabet_offsets"_a, "marked"_a, "unknown"_a, "mark"_a, "merges"_a, "max_token_length"_a,
        "min_frequency"_a, "progress"_a);
}
