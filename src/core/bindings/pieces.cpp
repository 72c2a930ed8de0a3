// Words cut by looking tokens up in them.
#include "proposing/pieces.hpp"

#include "bindings/released.hpp"
#include "bindings/arrays.hpp"
#include "base/unicode.hpp"
#include "bindings/convert.hpp"

using namespace nb::literals;

namespace {

void make_matching(volt::Matching* self, const std::string& encoding, bool marks_start,
                   uint64_t longest_word, bool single, bool restart, double unknown_score,
                   double symbol_score, const std::string& word_ends, bool whole_words,
                   bool adds_space, size_t part) {
  if (part == 0) throw std::invalid_argument("a part of a word has at least one byte");
  volt::Encoding number = volt::Encoding::merge;
  if (encoding == "longest") number = volt::Encoding::longest;
  else if (encoding == "unigram") number = volt::Encoding::unigram;
  else if (encoding != "merge" && encoding != "split")
    throw std::invalid_argument("unknown encoding: " + encoding);
  volt::WordEnds ends = volt::WordEnds::kinds;
  if (word_ends == "spaces") ends = volt::WordEnds::spaces;
  else if (word_ends == "runs") ends = volt::WordEnds::runs;
  else if (word_ends != "kinds")
    throw std::invalid_argument("unknown word ends: " + word_ends);
  new (self) volt::Matching{number,       marks_start, longest_word, single,    restart, unknown_score,
                            symbol_score, ends,        whole_words,  adds_space, part};
}

// Between their marks tokens are UTF-8, so that their characters can be found.
volt::KeyView check_keys(const ArrayIn<uint8_t>& text, const ArrayIn<uint64_t>& offsets,
                         const ArrayIn<uint8_t>& inside, const ArrayIn<double>& scores, bool bytes_only) {
  check_size(offsets.size(), inside.size() + 1);
  check_size(scores.size(), inside.size());
  check_offsets(offsets, text.size());
  for (size_t t = 0; t < inside.size() && !bytes_only; ++t) {
    const uint8_t *begin = text.data() + offsets.data()[t], *end = text.data() + offsets.data()[t + 1];
    if (*begin == volt::kStartMark) ++begin;
    if (begin < end && end[-1] == volt::kFinalMark) --end;
    if (begin == end || volt::find_invalid_utf8(begin, end))
      throw std::invalid_argument("a token that is not valid UTF-8");
  }
  return {text.data(), offsets.data(), inside.data(), inside.size()};
}

Array<uint64_t> count_pieces(const ArrayIn<uint8_t>& text, const ArrayIn<uint64_t>& offsets,
                             const ArrayIn<uint8_t>& inside, const ArrayIn<double>& scores,
                             const ArrayIn<uint8_t>& words, const ArrayIn<uint64_t>& word_offsets,
                             const ArrayIn<uint64_t>& counts, const volt::Matching& matching,
                             const std::string& mark, bool bytes_only, unsigned threads) {
  const volt::KeyView keys = check_keys(text, offsets, inside, scores, bytes_only);
  check_encodable(words, word_offsets, bytes_only);
  check_size(word_offsets.size(), counts.size() + 1);
  if (threads == 0) throw std::invalid_argument("no threads");
  const volt::WordView counted{words.data(), word_offsets.data(), counts.data(), counts.size()};
  const volt::WordMark where = word_mark_of(mark);
  std::vector<uint64_t> found;
  {
    Released release;
    found = volt::count_pieces(keys, scores.data(), counted, matching, where, bytes_only, threads);
  }
  return to_numpy(std::move(found));
}

Cut cut_by_pieces(const ArrayIn<uint8_t>& text, const ArrayIn<uint64_t>& offsets,
                  const ArrayIn<uint8_t>& inside, const ArrayIn<double>& scores, const ArrayIn<uint8_t>& words,
                  const ArrayIn<uint64_t>& word_offsets, const volt::Matching& matching,
                  const std::string& mark, const std::string& pretokenizer, int64_t unknown,
                  bool byte_fallback, unsigned threads) {
  const volt::Pretokenizer mode = pretokenizer_of(pretokenizer);
  const bool bytes_only = volt::is_byte_level(mode);
  const volt::KeyView keys = check_keys(text, offsets, inside, scores, bytes_only);
  check_encodable(words, word_offsets, bytes_only);
  if (threads == 0) throw std::invalid_argument("no threads");
  const volt::WordMark where = word_mark_of(mark);
  volt::CutWords cut;
  {
    Released release;
    cut = volt::cut_by_pieces(keys, scores.data(),
                              {words.data(), word_offsets.data(), nullptr, word_offsets.size() - 1}, matching,
                              where, bytes_only, unknown_character(unknown, byte_fallback, keys.size, mode),
                              threads);
  }
  return cut_to_numpy(std::move(cut));
}

Array<double> lift_scores(const ArrayIn<uint8_t>& text, const ArrayIn<uint64_t>& offsets,
                          const ArrayIn<uint8_t>& inside, const ArrayIn<double>& scores, bool bytes_only) {
  const volt::KeyView keys = check_keys(text, offsets, inside, scores, bytes_only);
  std::vector<double> lifted;
  {
    Released release;
    lifted = volt::lift_scores(keys, scores.data(), bytes_only);
  }
  return to_numpy(std::move(lifted));
}

}  // namespace

void register_pieces(nb::module_& m) {
  nb::class_<volt::Matching>(m, "Matching", "How words are cut: by merging, or by looking tokens up.")
      .def("__init__", &make_matching, "encoding"_a, "marks_start"_a, "longest_word"_a, "single"_a,
           "restart"_a, "unknown_score"_a, "symbol_score"_a, "word_ends"_a, "whole_words"_a,
           "adds_space"_a, "part"_a = volt::Matching{}.part);
  m.def("count_pieces", &count_pieces, "text"_a, "offsets"_a, "inside"_a, "scores"_a, "words"_a,
        "word_offsets"_a, "counts"_a, "matching"_a, "mark"_a, "bytes_only"_a, "threads"_a,
        "The frequency of every token, and after them that of unknown characters.");
  m.def("cut_by_pieces", &cut_by_pieces, "text"_a, "offsets"_a, "inside"_a, "scores"_a, "words"_a,
        "word_offsets"_a, "matching"_a, "mark"_a, "pretokenizer"_a, "unknown"_a, "byte_fallback"_a, "threads"_a,
        "The words cut by looking tokens up: tokens and offsets.");
  m.def("lift_scores", &lift_scores, "text"_a, "offsets"_a, "inside"_a, "scores"_a, "bytes_only"_a);
}
