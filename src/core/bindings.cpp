// The native module volt._core: a table of contents. All else in this folder is free of Python.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <cstdlib>
#include <stdexcept>
#include <utility>

#include "count.hpp"
#include "curve.hpp"
#include "encode.hpp"
#include "likelihood.hpp"
#include "merge.hpp"
#include "pieces.hpp"
#include "resample.hpp"
#include "spill.hpp"
#include "transport.hpp"
#include "unicode.hpp"
#include "word_file.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

template <class T>
using Array = nb::ndarray<nb::numpy, T, nb::ndim<1>, nb::c_contig>;
template <class T>
using ArrayIn = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using ArrayOut = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Table = nb::ndarray<const uint64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Give a vector to NumPy without copying it.
template <class T, class Allocator>
Array<T> to_numpy(std::vector<T, Allocator>&& vector) {
  using Vector = std::vector<T, Allocator>;
  auto* owned = new Vector(std::move(vector));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<Vector*>(p); });
  return Array<T>(owned->data(), {owned->size()}, owner);
}

volt::Pretokenizer pretokenizer_of(const std::string& name) {
  if (name == "whitespace") return volt::Pretokenizer::whitespace;
  if (name == "metaspace") return volt::Pretokenizer::metaspace;
  if (name == "byte-level") return volt::Pretokenizer::byte_level;
  if (name == "byte-level:cl100k") return volt::Pretokenizer::cl100k;
  if (name == "byte-level:llama3") return volt::Pretokenizer::llama3;
  if (name == "byte-level:qwen2") return volt::Pretokenizer::qwen2;
  if (name == "byte-level:o200k") return volt::Pretokenizer::o200k;
  throw std::invalid_argument("unknown pre-tokenizer: " + name);
}

struct BufferView {
  Py_buffer view;
  explicit BufferView(nb::handle object) {
    if (PyObject_GetBuffer(object.ptr(), &view, PyBUF_SIMPLE) != 0) throw nb::python_error();
  }
  ~BufferView() { PyBuffer_Release(&view); }
  BufferView(const BufferView&) = delete;
  BufferView& operator=(const BufferView&) = delete;
  const uint8_t* data() const { return static_cast<const uint8_t*>(view.buf); }
  size_t size() const { return static_cast<size_t>(view.len); }
};

// The words of a list must lie inside its text.
void check_offsets(const ArrayIn<uint8_t>& text, const ArrayIn<uint64_t>& offsets, bool empty = false) {
  if (offsets.size() == 0 || offsets.data()[0] != 0 || offsets.data()[offsets.size() - 1] != text.size())
    throw std::invalid_argument("offsets do not span the text");
  for (size_t i = 1; i < offsets.size(); ++i)
    if (offsets.data()[i - 1] + (empty ? 0 : 1) > offsets.data()[i])
      throw std::invalid_argument("an empty word, or offsets out of order");
}

void check_words(const ArrayIn<uint8_t>& text, const ArrayIn<uint64_t>& offsets,
                 const ArrayIn<uint64_t>& counts) {
  if (offsets.size() != counts.size() + 1) throw std::invalid_argument("offsets and counts disagree");
  check_offsets(text, offsets);
}

nb::dict learn_merges(const ArrayIn<uint8_t>& text, const ArrayIn<uint64_t>& offsets,
                      const ArrayIn<uint64_t>& counts, const std::function<Table()>& columns,
                      const std::string& pretokenizer, uint64_t merges, double coverage,
                      uint32_t max_token_length, uint64_t min_frequency, unsigned threads,
                      const std::function<void(uint64_t)>& progress) {
  check_words(text, offsets, counts);
  if (!volt::is_byte_level(pretokenizer_of(pretokenizer)) &&
      volt::find_invalid_utf8(text.data(), text.data() + text.size()) != nullptr)
    throw std::invalid_argument("the words are not valid UTF-8");
  volt::WordView words{text.data(), offsets.data(), counts.data(), counts.size()};
  volt::MergeOptions options{pretokenizer_of(pretokenizer), merges,        coverage,
                             max_token_length,              min_frequency, threads};
  volt::MergeResult r;
  Table kept;
  {
    nb::gil_scoped_release release;
    r = volt::learn_merges(
        words, options,
        [&](uint64_t done) {
          nb::gil_scoped_acquire acquire;
          if (PyErr_CheckSignals() != 0) throw nb::python_error();
          progress(done);
        },
        [&]() -> volt::ColumnView {
          nb::gil_scoped_acquire acquire;
          kept = columns();
          if (kept.shape(1) != 0 && kept.shape(0) != counts.size())
            throw std::invalid_argument("columns and counts disagree");
          return {kept.data(), kept.shape(1)};
        });
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
  out["alphabet_columns"] = to_numpy(std::move(r.alphabet_columns));
  out["merge_columns"] = to_numpy(std::move(r.merge_columns));
  return out;
}

// Signals reach Python, and the caller hears how far the work is.
volt::RunProgress run_progress(const std::function<void(uint64_t)>& progress) {
  return [&progress](uint64_t done) {
    nb::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    progress(done);
  };
}

void check_rows(const ArrayIn<uint64_t>& rows, size_t merges) {
  for (size_t i = 0; i < rows.size(); ++i)
    if (rows.data()[i] > merges || (i > 0 && rows.data()[i] <= rows.data()[i - 1]))
      throw std::invalid_argument("rows must rise and lie within the merges");
}

nb::dict curve_sums(const ArrayIn<uint64_t>& alphabet_counts, const ArrayIn<uint32_t>& lengths,
                    const ArrayIn<uint32_t>& left, const ArrayIn<uint32_t>& right,
                    const ArrayIn<uint64_t>& merge_counts, const ArrayIn<uint64_t>& rows, uint64_t often) {
  const size_t merges = left.size(), alphabet = alphabet_counts.size();
  if (right.size() != merges || merge_counts.size() != merges || lengths.size() != alphabet + merges)
    throw std::invalid_argument("the columns differ in length");
  for (size_t m = 0; m < merges; ++m)
    if (left.data()[m] >= alphabet + m || right.data()[m] >= alphabet + m)
      throw std::invalid_argument("a merge names a token that does not exist yet");
  check_rows(rows, merges);
  volt::CurveSums c;
  {
    nb::gil_scoped_release release;
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

// The support of a transport problem, checked once, and what an iteration reads of it.
class TransportSupport {
 public:
  TransportSupport(ArrayIn<int32_t> pointer, ArrayIn<int32_t> character, size_t characters)
      : pointer_(std::move(pointer)), character_(std::move(character)), characters_(characters) {
    const size_t entries = character_.size();
    if (pointer_.size() == 0 || pointer_.data()[0] != 0 ||
        static_cast<size_t>(pointer_.data()[pointer_.size() - 1]) != entries)
      throw std::invalid_argument("the pointers do not span the support");
    for (size_t j = 1; j < pointer_.size(); ++j) {
      const int32_t begin = pointer_.data()[j - 1], end = pointer_.data()[j];
      if (begin >= end || static_cast<size_t>(end) > entries)
        throw std::invalid_argument("a token without characters, or pointers out of order");
      for (int32_t e = begin; e < end; ++e) {
        const int32_t i = character_.data()[e];
        if (i < 0 || static_cast<size_t>(i) >= characters || (e > begin && i <= character_.data()[e - 1]))
          throw std::invalid_argument("characters of a token out of range or order");
      }
    }
    by_ = volt::by_character(view());
    pattern_ = volt::shared_tokens(view(), by_.pointer.data(), by_.token.data());
  }
  void half_step(const ArrayIn<double>& costs, double gamma, const ArrayIn<double>& potential,
                 const ArrayIn<double>& lower, const ArrayIn<double>& upper,
                 const ArrayIn<double>& log_lower, const ArrayIn<double>& log_upper,
                 ArrayOut plan, ArrayOut log_sum, ArrayOut token_mass, ArrayOut character_mass) const {
    const volt::Support support = view();
    for (size_t size : {lower.size(), upper.size(), log_lower.size(), log_upper.size(), log_sum.size(),
                        token_mass.size()})
      check_size(size, support.tokens);
    for (size_t size : {costs.size(), plan.size()}) check_size(size, character_.size());
    for (size_t size : {potential.size(), character_mass.size()}) check_size(size, characters_);
    nb::gil_scoped_release release;
    volt::token_half_step(support, costs.data(), gamma, potential.data(),
                          {lower.data(), upper.data(), log_lower.data(), log_upper.data()}, plan.data(),
                          log_sum.data(), token_mass.data(), character_mass.data());
  }

  void couple(const ArrayIn<double>& plan, const ArrayIn<double>& weight, const ArrayIn<double>& scale,
              ArrayOut value) const {
    check_size(plan.size(), character_.size());
    check_size(weight.size(), pointer_.size() - 1);
    check_size(scale.size(), characters_);
    check_size(value.size(), pattern_.column.size());
    nb::gil_scoped_release release;
    volt::couple(view(), by_.pointer.data(), by_.token.data(), plan.data(), weight.data(), scale.data(),
                 pattern_.pointer.data(), pattern_.column.data(), value.data());
  }

  void solve_coupled(const ArrayIn<double>& value, double theta, double enough,
                     const ArrayIn<double>& right, ArrayOut result) const {
    check_size(value.size(), pattern_.column.size());
    for (size_t size : {right.size(), result.size()}) check_size(size, characters_);
    nb::gil_scoped_release release;
    volt::solve_coupled({pattern_.pointer.data(), pattern_.column.data(), value.data(), characters_}, theta,
                        enough, right.data(), result.data());
  }

  size_t couplings() const { return pattern_.column.size(); }
  size_t bytes() const {
    return sizeof(int32_t) * (by_.pointer.capacity() + by_.token.capacity() + pattern_.pointer.capacity() +
                              pattern_.column.capacity());
  }
  Array<int32_t> pattern_pointer() const { return to_numpy(std::vector(pattern_.pointer)); }
  Array<int32_t> pattern_column() const { return to_numpy(std::vector(pattern_.column)); }

 private:
  static void check_size(size_t size, size_t expected) {
    if (size != expected) throw std::invalid_argument("an array does not fit the support");
  }
  volt::Support view() const {
    return {pointer_.data(), character_.data(), pointer_.size() - 1, characters_};
  }

  ArrayIn<int32_t> pointer_, character_;
  size_t characters_;
  volt::ByCharacter by_;
  volt::SymmetricPattern pattern_;
};

using Draws = nb::ndarray<uint64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void check_parents(const ArrayIn<uint32_t>& left, const ArrayIn<uint32_t>& right, size_t tokens) {
  const size_t merges = left.size();
  if (right.size() != merges || tokens < merges) throw std::invalid_argument("the columns differ in length");
  for (size_t m = 0; m < merges; ++m)
    if (left.data()[m] >= tokens - merges + m || right.data()[m] >= tokens - merges + m)
      throw std::invalid_argument("a merge names a token that does not exist yet");
}

void take_from_parents(const ArrayIn<uint32_t>& left, const ArrayIn<uint32_t>& right, Draws draws) {
  check_parents(left, right, draws.shape(0));
  nb::gil_scoped_release release;
  volt::take_from_parents(left.data(), right.data(), draws.shape(0) - left.size(), left.size(), draws.data(),
                          draws.shape(1));
}

void push_down(const ArrayIn<uint32_t>& left, const ArrayIn<uint32_t>& right, const ArrayIn<uint8_t>& keep,
               nb::ndarray<uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu> frequency, Draws draws) {
  const size_t tokens = keep.size();
  if (frequency.size() != tokens || draws.shape(0) != tokens)
    throw std::invalid_argument("the columns differ in length");
  check_parents(left, right, tokens);
  nb::gil_scoped_release release;
  volt::push_down(left.data(), right.data(), tokens - left.size(), left.size(), keep.data(), frequency.data(),
                  draws.data(), draws.shape(1));
}

void closure(const ArrayIn<uint32_t>& left, const ArrayIn<uint32_t>& right,
             nb::ndarray<uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu> marked) {
  check_parents(left, right, marked.size());
  volt::closure(left.data(), right.data(), marked.size() - left.size(), left.size(), marked.data());
}

Array<double> zipf_fit(const ArrayIn<uint64_t>& alphabet_counts, const ArrayIn<uint32_t>& left,
                       const ArrayIn<uint32_t>& right, const ArrayIn<uint64_t>& merge_counts,
                       const ArrayIn<uint64_t>& rows) {
  const size_t merges = left.size(), alphabet = alphabet_counts.size();
  if (merge_counts.size() != merges) throw std::invalid_argument("the columns differ in length");
  check_parents(left, right, alphabet + merges);
  check_rows(rows, merges);
  std::vector<double> scores;
  {
    nb::gil_scoped_release release;
    scores = volt::zipf_fit(alphabet_counts.data(), alphabet, left.data(), right.data(),
                            merge_counts.data(), rows.data(), rows.size());
  }
  return to_numpy(std::move(scores));
}

// What can't be encoded is refused here: native code trusts that words are valid UTF-8, but where it
// reads bytes only.
void check_encodable(const ArrayIn<uint8_t>& text, const ArrayIn<uint64_t>& offsets, bool bytes_only) {
  const uint8_t* bytes = text.data();
  if (offsets.size() == 0 || offsets.data()[0] != 0 || offsets.data()[offsets.size() - 1] != text.size())
    throw std::invalid_argument("offsets do not span the text");
  for (size_t i = 0; i + 1 < offsets.size(); ++i) {
    const uint64_t begin = offsets.data()[i], end = offsets.data()[i + 1];
    if (begin >= end || end > text.size())
      throw std::invalid_argument("an empty word, or offsets out of order");
    if (!bytes_only && volt::is_continuation(bytes[begin]))
      throw std::invalid_argument("a word that starts in a character");
  }
  if (!bytes_only && volt::find_invalid_utf8(bytes, bytes + text.size()))
    throw std::invalid_argument("the words are not valid UTF-8");
}

void make_encoder(volt::Encoder* self, const std::string& pretokenizer, const std::string& rule,
                  const ArrayIn<uint8_t>& text, const ArrayIn<uint64_t>& offsets,
                  const ArrayIn<uint8_t>& kinds, const ArrayIn<uint8_t>& marks,
                  const ArrayIn<uint32_t>& left, const ArrayIn<uint32_t>& right,
                  const ArrayIn<uint64_t>& ranks, const ArrayIn<double>& scores, size_t visible,
                  int64_t unknown, bool fuse_unknown, const volt::Matching& matching) {
  const size_t size = kinds.size();
  if (rule != "pairs" && rule != "concat") throw std::invalid_argument("unknown merge rule: " + rule);
  if (marks.size() != size || scores.size() != size || left.size() != size || right.size() != size || ranks.size() != size ||
      offsets.size() != size + 1)
    throw std::invalid_argument("the columns differ in length");
  if (offsets.data()[0] != 0 || offsets.data()[size] != text.size())
    throw std::invalid_argument("offsets do not span the text");
  for (size_t i = 0; i < size; ++i)
    if (offsets.data()[i] > offsets.data()[i + 1] || offsets.data()[i + 1] > text.size())
      throw std::invalid_argument("offsets out of order");
  const volt::TokenView tokens{
      text.data(), offsets.data(), kinds.data(), marks.data(), left.data(), right.data(), ranks.data(),
      scores.data(), size, visible, unknown < 0 ? volt::kNoToken : static_cast<uint32_t>(unknown),
      fuse_unknown};
  nb::gil_scoped_release release;
  new (self) volt::Encoder(pretokenizer_of(pretokenizer),
                           rule == "pairs" ? volt::MergeRule::pairs : volt::MergeRule::concat, matching,
                           tokens);
}

// The UTF-8 of a string; it lives as long as the string does.
std::pair<const uint8_t*, size_t> utf8_of(nb::handle text) {
  Py_ssize_t bytes = 0;
  const char* utf8 = PyUnicode_AsUTF8AndSize(text.ptr(), &bytes);
  if (utf8 == nullptr) throw nb::python_error();
  return {reinterpret_cast<const uint8_t*>(utf8), static_cast<size_t>(bytes)};
}

nb::list to_list(const uint32_t* ids, size_t size) {
  PyObject* list = PyList_New(static_cast<Py_ssize_t>(size));
  if (list == nullptr) throw nb::python_error();
  nb::list owner = nb::steal<nb::list>(list);
  for (size_t i = 0; i < size; ++i) {
    PyObject* id = PyLong_FromUnsignedLong(ids[i]);
    if (id == nullptr) throw nb::python_error();
    PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), id);
  }
  return owner;
}

// A mask of allowed special tokens: nothing, or a byte for every token.
const uint8_t* allowed_of(const volt::Encoder& encoder, const nb::bytes& allowed) {
  if (allowed.size() == 0) return nullptr;
  if (allowed.size() != encoder.size()) throw std::invalid_argument("allowed has not one byte a token");
  return reinterpret_cast<const uint8_t*>(allowed.c_str());
}

nb::list encode(const volt::Encoder& self, nb::str text, const nb::bytes& allowed, double dropout,
                uint64_t seed) {
  const auto [utf8, bytes] = utf8_of(text);
  const volt::TextView view{utf8, bytes};
  const volt::EncodeOptions options{allowed_of(self, allowed), {dropout, seed}};
  volt::IdBuffer ids;
  std::vector<uint64_t> ends;
  constexpr size_t kLong = 1 << 14;  // a short text takes less time than to hand over the interpreter
  if (bytes < kLong) {
    self.encode(&view, 1, 0, options, 1, ids, ends);
  } else {
    nb::gil_scoped_release release;
    self.encode(&view, 1, 0, options, 1, ids, ends);
  }
  return to_list(ids.data(), ids.size());
}

nb::list encode_batch(const volt::Encoder& self, nb::list texts, const nb::bytes& allowed, double dropout,
                      uint64_t seed, unsigned threads) {
  // The strings are kept, in case another thread changes the list.
  std::vector<nb::object> kept;
  std::vector<volt::TextView> views;
  for (nb::handle text : texts) {
    if (!PyUnicode_Check(text.ptr())) throw nb::type_error("a text that is no string");
    kept.push_back(nb::borrow(text));
    const auto [utf8, bytes] = utf8_of(text);
    views.push_back({utf8, bytes});
  }
  const volt::EncodeOptions options{allowed_of(self, allowed), {dropout, seed}};
  volt::IdBuffer ids;
  std::vector<uint64_t> ends;
  {
    nb::gil_scoped_release release;
    self.encode(views.data(), views.size(), 0, options, threads, ids, ends);
  }
  nb::list out;
  uint64_t begin = 0;
  for (const uint64_t end : ends) {
    out.append(to_list(ids.data() + begin, end - begin));
    begin = end;
  }
  return out;
}

nb::tuple encode_words(const volt::Encoder& self, const ArrayIn<uint8_t>& text,
                       const ArrayIn<uint64_t>& offsets, unsigned threads) {
  check_encodable(text, offsets, self.bytes_only());
  std::vector<uint32_t> ids;
  std::vector<uint64_t> id_offsets;
  {
    nb::gil_scoped_release release;
    self.encode_words(text.data(), offsets.data(), offsets.size() - 1, threads, ids, id_offsets);
  }
  return nb::make_tuple(to_numpy(std::move(ids)), to_numpy(std::move(id_offsets)));
}

volt::WordMark word_mark_of(const std::string& name) {
  if (name == "") return volt::WordMark::none;
  if (name == "##") return volt::WordMark::start;
  if (name == "</w>") return volt::WordMark::final;
  throw std::invalid_argument("unknown mark: " + name);
}

// Text before its last mark is UTF-8, so that characters can be found in it.
void check_keys(const ArrayIn<uint8_t>& text, const ArrayIn<uint64_t>& offsets, const ArrayIn<uint8_t>& inside,
                const ArrayIn<double>& scores, bool bytes_only) {
  if (inside.size() + 1 != offsets.size() || scores.size() != inside.size())
    throw std::invalid_argument("the columns differ in length");
  check_offsets(text, offsets);
  for (size_t t = 0; t < inside.size() && !bytes_only; ++t) {
    const uint8_t *begin = text.data() + offsets.data()[t], *end = text.data() + offsets.data()[t + 1];
    if (*begin == volt::kStartMark) ++begin;
    if (begin < end && end[-1] == volt::kFinalMark) --end;
    if (begin == end || volt::find_invalid_utf8(begin, end))
      throw std::invalid_argument("a token that is not valid UTF-8");
  }
}

Array<uint64_t> count_pieces(const ArrayIn<uint8_t>& text, const ArrayIn<uint64_t>& offsets,
                             const ArrayIn<uint8_t>& inside, const ArrayIn<double>& scores,
                             const ArrayIn<uint8_t>& words, const ArrayIn<uint64_t>& word_offsets,
                             const Table& counts, const volt::Matching& matching, const std::string& mark,
                             bool bytes_only, unsigned threads) {
  check_keys(text, offsets, inside, scores, bytes_only);
  check_encodable(words, word_offsets, bytes_only);
  if (counts.shape(0) + 1 != word_offsets.size()) throw std::invalid_argument("offsets and counts disagree");
  if (threads == 0) throw std::invalid_argument("no threads");
  const volt::KeyView keys{text.data(), offsets.data(), inside.data(), inside.size()};
  const volt::CountedWords counted{words.data(), word_offsets.data(), counts.data(), counts.shape(0),
                                   counts.shape(1)};
  const volt::WordMark where = word_mark_of(mark);
  std::vector<uint64_t> found;
  {
    nb::gil_scoped_release release;
    found = volt::count_pieces(keys, scores.data(), counted, matching, where, bytes_only, threads);
  }
  return to_numpy(std::move(found));
}

Array<double> lift_scores(const ArrayIn<uint8_t>& text, const ArrayIn<uint64_t>& offsets,
                          const ArrayIn<uint8_t>& inside, const ArrayIn<double>& scores, bool bytes_only) {
  check_keys(text, offsets, inside, scores, bytes_only);
  const volt::KeyView keys{text.data(), offsets.data(), inside.data(), inside.size()};
  std::vector<double> lifted;
  {
    nb::gil_scoped_release release;
    lifted = volt::lift_scores(keys, scores.data(), bytes_only);
  }
  return to_numpy(std::move(lifted));
}

nb::dict likelihood_merges(const ArrayIn<uint32_t>& symbols, const ArrayIn<uint64_t>& offsets,
                           const ArrayIn<uint64_t>& counts, const ArrayIn<uint8_t>& alphabet,
                           const ArrayIn<uint64_t>& alphabet_offsets, const ArrayIn<uint8_t>& marked,
                           int64_t unknown, const std::string& mark, uint64_t merges,
                           uint32_t max_token_length, uint64_t min_frequency,
                           const std::function<void(uint64_t)>& progress) {
  if (offsets.size() != counts.size() + 1 || alphabet_offsets.size() != marked.size() + 1)
    throw std::invalid_argument("the columns differ in length");
  check_offsets(alphabet, alphabet_offsets);
  if (offsets.data()[0] != 0 || offsets.data()[counts.size()] != symbols.size())
    throw std::invalid_argument("offsets do not span the symbols");
  for (size_t w = 0; w < counts.size(); ++w)
    if (offsets.data()[w] > offsets.data()[w + 1]) throw std::invalid_argument("offsets out of order");
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
    nb::gil_scoped_release release;
    r = volt::likelihood_merges({symbols.data(), offsets.data(), counts.data(), counts.size()},
                                std::move(texts), {marked.data(), marked.data() + marked.size()}, options,
                                [&](uint64_t done) {
                                  nb::gil_scoped_acquire acquire;
                                  if (PyErr_CheckSignals() != 0) throw nb::python_error();
                                  progress(done);
                                });
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

NB_MODULE(_core, m) {
#ifdef NDEBUG
  nb::set_leak_warnings(false);  // objects that live until the interpreter ends are no leak
#endif
  m.doc() = "volt's native core: count, merge.";
  m.attr("unicode_version") = volt::unicode_version();

  m.def("unicode_class", [](uint32_t code_point) {
    if (code_point >= 0x110000) throw nb::value_error("not a code point");
    return static_cast<int>(volt::char_class(code_point));
  }, "code_point"_a, "0 other, 1 letter, 2 mark, 3 number, 4 white space.");
  m.def("letter_case", [](uint32_t code_point) {
    if (code_point >= 0x110000) throw nb::value_error("not a code point");
    return static_cast<int>(volt::letter_case(code_point));
  }, "code_point"_a, "0 none, 1 upper or title case, 2 lower case.");

  m.def("find_invalid_utf8", [](nb::handle data) {
    BufferView buffer(data);
    const uint8_t* found = volt::find_invalid_utf8(buffer.data(), buffer.data() + buffer.size());
    return found ? static_cast<int64_t>(found - buffer.data()) : int64_t{-1};
  }, "data"_a, "Offset of the first ill-formed UTF-8 sequence, or -1.");

  nb::class_<volt::Counter>(m, "Counter", "Counts the words of text fed to it in parts.")
      .def("__init__", [](volt::Counter* self, const std::string& pretokenizer, uint32_t max_word_length,
                          unsigned threads, uint64_t max_types) {
        new (self) volt::Counter(pretokenizer_of(pretokenizer), max_word_length, threads, max_types);
      }, "pretokenizer"_a, "max_word_length"_a, "threads"_a, "max_types"_a)
      .def("feed", [](volt::Counter& self, nb::handle data, bool last, uint64_t weight) {
        BufferView buffer(data);
        volt::FeedResult r;
        {
          nb::gil_scoped_release release;
          r = self.feed(buffer.data(), buffer.size(), last, weight);
        }
        return nb::make_tuple(r.consumed, r.lines, r.invalid_at);
      }, "data"_a, "last"_a, "weight"_a, "Returns (bytes consumed, lines, offset of invalid UTF-8 or -1).")
      .def("read_words", [](volt::Counter& self, nb::handle data, bool last, uint64_t weight) {
        BufferView buffer(data);
        volt::ReadResult r;
        {
          nb::gil_scoped_release release;
          r = volt::read_words(self, buffer.data(), buffer.size(), last, weight);
        }
        return nb::make_tuple(r.consumed, r.lines, r.problem);
      }, "data"_a, "last"_a, "weight"_a, "Lines `word<TAB>count`: (bytes consumed, lines, problem or '').")
      .def("add_words", [](volt::Counter& self, const ArrayIn<uint8_t>& text, const ArrayIn<uint64_t>& offsets,
                           const ArrayIn<uint64_t>& counts, uint64_t weight) {
        check_words(text, offsets, counts);
        nb::gil_scoped_release release;
        for (size_t i = 0; i < counts.size(); ++i) {
          uint64_t count = 0;
          if (__builtin_mul_overflow(counts.data()[i], weight, &count) || count >> 63)
            throw std::overflow_error("the weighted counts do not fit 63 bits");
          self.add({reinterpret_cast<const char*>(text.data()) + offsets.data()[i],
                    offsets.data()[i + 1] - offsets.data()[i]}, count);
        }
      }, "text"_a, "offsets"_a, "counts"_a, "weight"_a, "Words that were counted before by the same rule.")
      .def_prop_ro("totals", [](const volt::Counter& self) {
        const volt::CountTotals& t = self.totals();
        nb::dict out;
        out["words"] = t.words;
        out["cut_words"] = t.cut_words;
        out["reserved"] = t.reserved;
        out["pruned_words"] = t.pruned_words;
        out["max_undercount"] = t.max_undercount;
        return out;
      })
      .def("memory", &volt::Counter::memory, "text_bytes"_a,
           "Bytes taken, at most, while so much more text is counted and then spilled.")
      .def("spill", &volt::Counter::spill, nb::call_guard<nb::gil_scoped_release>(), "prefix"_a,
           "Write the words as sorted runs prefix0, prefix1 ... and forget them; how many runs.")
      .def("finish", [](volt::Counter& self, uint64_t min_count) {
        volt::WordList list;
        {
          nb::gil_scoped_release release;
          list = self.finish(min_count);
        }
        return nb::make_tuple(to_numpy(std::move(list.text)), to_numpy(std::move(list.offsets)),
                              to_numpy(std::move(list.counts)));
      }, "min_count"_a, "The words (text, offsets, counts), most frequent first.");

  m.def("write_words", [](const ArrayIn<uint8_t>& text, const ArrayIn<uint64_t>& offsets,
                          const ArrayIn<uint64_t>& counts) {
    check_words(text, offsets, counts);
    const std::string out = volt::write_words(text.data(), offsets.data(), counts.data(), counts.size());
    return nb::bytes(out.data(), out.size());
  }, "text"_a, "offsets"_a, "counts"_a, "The word list as lines `word<TAB>count`.");
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const volt::FileError& error) {
      errno = error.code;
      PyErr_SetFromErrnoWithFilename(PyExc_OSError, error.path.c_str());
    }
  });
  m.def("merge_runs", [](const std::vector<std::string>& paths, const std::string& target, size_t buffer,
                         const std::function<void(uint64_t)>& progress) {
    nb::gil_scoped_release release;
    volt::merge_runs(paths, target, buffer, run_progress(progress));
  }, "paths"_a, "target"_a, "buffer"_a, "progress"_a, "Sorted runs become one.");
  m.def("rank_runs", [](const std::vector<std::string>& paths, const std::string& prefix,
                        const std::string& pretokenizer, uint64_t min_count, size_t memory, size_t buffer,
                        const std::function<void(uint64_t)>& progress) {
    volt::Ranking ranking;
    {
      nb::gil_scoped_release release;
      ranking = volt::rank_runs(paths, prefix, pretokenizer_of(pretokenizer), min_count, memory, buffer,
                                run_progress(progress));
    }
    return nb::make_tuple(ranking.paths, to_numpy(std::move(ranking.counts)),
                          to_numpy(std::move(ranking.types)));
  }, "paths"_a, "prefix"_a, "pretokenizer"_a, "min_count"_a, "memory"_a, "buffer"_a, "progress"_a,
     "Runs by words become runs by counts: (their paths, counts from the highest, types of each).");
  nb::class_<volt::RankedLines>(m, "RankedLines", "Runs by counts as the lines of a counts file.")
      .def(nb::init<const std::vector<std::string>&, uint64_t, size_t>(), "paths"_a, "limit"_a, "buffer"_a)
      .def("next", [](volt::RankedLines& self, size_t bytes) {
        std::string lines;
        {
          nb::gil_scoped_release release;
          lines = self.next(bytes);
        }
        return nb::bytes(lines.data(), lines.size());
      }, "bytes"_a, "About so many bytes of whole lines; none at the end.");
  m.def("write_rows", [](const ArrayIn<uint8_t>& text, const ArrayIn<uint64_t>& offsets,
                         const ArrayIn<int64_t>& numbers) {
    check_offsets(text, offsets);
    const size_t rows = offsets.size() - 1;
    if (rows == 0 ? numbers.size() != 0 : numbers.size() % rows != 0)
      throw std::invalid_argument("numbers must have as many for every row");
    const size_t columns = rows == 0 ? 0 : numbers.size() / rows;
    const std::string out = volt::write_rows(text.data(), offsets.data(), numbers.data(), rows, columns);
    return nb::bytes(out.data(), out.size());
  }, "text"_a, "offsets"_a, "numbers"_a, "Lines of row number, text and numbers, between tabs.");
  m.def("write_tokens", [](const ArrayIn<uint8_t>& text, const ArrayIn<uint64_t>& offsets,
                           const ArrayIn<uint8_t>& kinds, const ArrayIn<int64_t>& parents,
                           const ArrayIn<int64_t>& ranks, const ArrayIn<uint8_t>& scaffolds,
                           const ArrayIn<int64_t>& frequencies, std::vector<std::string> scores,
                           std::vector<std::string> names, uint64_t first_id) {
    check_offsets(text, offsets, true);
    const size_t size = offsets.size() - 1;
    if (kinds.size() != size || parents.size() != 2 * size || ranks.size() != size ||
        scaffolds.size() != size || frequencies.size() != size || (!scores.empty() && scores.size() != size))
      throw std::invalid_argument("columns of different lengths");
    for (size_t row = 0; row < size; ++row)
      if (kinds.data()[row] >= names.size()) throw std::invalid_argument("a kind without a name");
    const std::string out = volt::write_tokens(
        {text.data(), offsets.data(), kinds.data(), parents.data(), ranks.data(), scaffolds.data(),
         frequencies.data(), std::move(scores), std::move(names), size}, first_id);
    return nb::bytes(out.data(), out.size());
  }, "text"_a, "offsets"_a, "kinds"_a, "parents"_a, "ranks"_a, "scaffolds"_a, "frequencies"_a, "scores"_a,
     "names"_a, "first_id"_a, "Tokens as JSON objects, a line each.");
  m.def("learn_merges", &learn_merges, "text"_a, "offsets"_a, "counts"_a, "columns"_a, "pretokenizer"_a,
        "merges"_a, "coverage"_a, "max_token_length"_a, "min_frequency"_a, "threads"_a, "progress"_a);
  m.def("resample", [](const ArrayIn<uint64_t>& counts, size_t draws, uint64_t seed, unsigned threads) {
    uint64_t total = 0;
    for (size_t i = 0; i < counts.size(); ++i)
      if (__builtin_add_overflow(total, counts.data()[i], &total) || total >> 63)
        throw std::overflow_error("the counts do not fit 63 bits");
    volt::HugeVector<uint64_t> out;
    {
      nb::gil_scoped_release release;
      out = volt::resample(counts.data(), counts.size(), draws, seed, threads);
    }
    return to_numpy(std::move(out));
  }, "counts"_a, "draws"_a, "seed"_a, "threads"_a, "Multinomial samples of word counts, a row a word.");
  m.def("take_from_parents", &take_from_parents, "left"_a, "right"_a, "draws"_a);
  m.def("push_down", &push_down, "left"_a, "right"_a, "keep"_a, "frequency"_a, "draws"_a);
  m.def("closure", &closure, "left"_a, "right"_a, "marked"_a);
  m.def("zipf_fit", &zipf_fit, "alphabet_counts"_a, "left"_a, "right"_a, "merge_counts"_a, "rows"_a);
  m.def("curve_sums", &curve_sums, "alphabet_counts"_a, "lengths"_a, "left"_a, "right"_a,
        "merge_counts"_a, "rows"_a, "often"_a);

  m.attr("SMALLEST_EXPONENT") = volt::kSmallestExponent;
  nb::class_<TransportSupport>(m, "TransportSupport", "Which characters stand in which tokens.")
      .def(nb::init<ArrayIn<int32_t>, ArrayIn<int32_t>, size_t>(), "pointer"_a, "character"_a, "characters"_a)
      .def("half_step", &TransportSupport::half_step, "costs"_a, "gamma"_a, "potential"_a, "lower"_a,
           "upper"_a, "log_lower"_a, "log_upper"_a, "plan"_a, "log_sum"_a, "token_mass"_a, "character_mass"_a)
      .def("couple", &TransportSupport::couple, "plan"_a, "weight"_a, "scale"_a, "value"_a)
      .def("solve_coupled", &TransportSupport::solve_coupled, "value"_a, "theta"_a, "enough"_a, "right"_a,
           "result"_a)
      .def_prop_ro("couplings", &TransportSupport::couplings, "Pairs of characters that share a token.")
      .def_prop_ro("nbytes", &TransportSupport::bytes, "Memory of its own.")
      .def_prop_ro("pattern_pointer", &TransportSupport::pattern_pointer, nb::rv_policy::move)
      .def_prop_ro("pattern_column", &TransportSupport::pattern_column, nb::rv_policy::move);

  nb::class_<volt::Matching>(m, "Matching", "How tokens are looked up.")
      .def("__init__", [](volt::Matching* self, const std::string& encoding, bool marks_start,
                          uint64_t most_characters, bool single, bool anew, double unknown_score,
                          double symbol_score, bool at_spaces, bool whole_words) {
        volt::Encoding number = volt::Encoding::merge;
        if (encoding == "longest") number = volt::Encoding::longest;
        else if (encoding == "unigram") number = volt::Encoding::unigram;
        else if (encoding != "merge" && encoding != "split")
          throw std::invalid_argument("unknown encoding: " + encoding);
        new (self) volt::Matching{number, marks_start, most_characters, single, anew, unknown_score, symbol_score,
                                  at_spaces, whole_words};
      }, "encoding"_a, "marks_start"_a, "most_characters"_a, "single"_a, "anew"_a, "unknown_score"_a,
         "symbol_score"_a, "at_spaces"_a, "whole_words"_a);

  m.def("count_pieces", &count_pieces, "text"_a, "offsets"_a, "inside"_a, "scores"_a, "words"_a,
        "word_offsets"_a, "counts"_a, "matching"_a, "mark"_a, "bytes_only"_a, "threads"_a,
        "Frequencies, row by row, the last row of unknown characters.");
  m.def("lift_scores", &lift_scores, "text"_a, "offsets"_a, "inside"_a, "scores"_a, "bytes_only"_a);
  m.def("likelihood_merges", &likelihood_merges, "symbols"_a, "offsets"_a, "counts"_a, "alphabet"_a,
        "alphabet_offsets"_a, "marked"_a, "unknown"_a, "mark"_a, "merges"_a, "max_token_length"_a,
        "min_frequency"_a, "progress"_a);

  nb::class_<volt::Encoder>(m, "Encoder", "A vocabulary that turns text into ids.")
      .def("__init__", &make_encoder, "pretokenizer"_a, "merge_rule"_a, "text"_a, "offsets"_a, "kinds"_a,
           "marks"_a, "left"_a, "right"_a, "ranks"_a, "scores"_a, "visible"_a, "unknown"_a,
           "fuse_unknown"_a, "matching"_a)
      .def("encode", &encode, "text"_a, "allowed"_a, "dropout"_a, "seed"_a)
      .def("encode_batch", &encode_batch, "texts"_a, "allowed"_a, "dropout"_a, "seed"_a, "threads"_a)
      .def("encode_words", &encode_words, "text"_a, "offsets"_a, "threads"_a);

  nb::class_<volt::PrintTable>(m, "PrintTable", "What each token looks like in a line of output.")
      .def("__init__", [](volt::PrintTable* self, const ArrayIn<uint8_t>& text, const ArrayIn<uint64_t>& offsets) {
        if (offsets.size() == 0 || offsets.data()[offsets.size() - 1] != text.size())
          throw std::invalid_argument("offsets do not span the text");
        for (size_t i = 0; i + 1 < offsets.size(); ++i)
          if (offsets.data()[i] > offsets.data()[i + 1]) throw std::invalid_argument("offsets out of order");
        new (self) volt::PrintTable{{text.data(), text.data() + text.size()},
                                    {offsets.data(), offsets.data() + offsets.size()}};
      }, "text"_a, "offsets"_a);

  nb::class_<volt::LineEncoder>(m, "LineEncoder", "Encodes the lines of a file fed to it in parts.")
      .def("__init__", [](volt::LineEncoder* self, const volt::Encoder& encoder, const nb::bytes& allowed,
                          double dropout, uint64_t seed, unsigned threads) {
        const auto* mask = reinterpret_cast<const uint8_t*>(allowed.c_str());
        new (self) volt::LineEncoder(encoder, {mask, mask + allowed.size()}, {dropout, seed}, threads);
      }, "encoder"_a, "allowed"_a, "dropout"_a, "seed"_a, "threads"_a, nb::keep_alive<1, 2>())
      .def("feed", [](volt::LineEncoder& self, nb::handle data, bool last) {
        BufferView buffer(data);
        volt::FeedResult r;
        {
          nb::gil_scoped_release release;
          r = self.feed(buffer.data(), buffer.size(), last);
        }
        return nb::make_tuple(r.consumed, r.lines, r.invalid_at);
      }, "data"_a, "last"_a, "Returns (bytes consumed, lines, offset of invalid UTF-8 or -1).")
      .def_prop_ro("unfinished", &volt::LineEncoder::unfinished)
      .def("print", [](volt::LineEncoder& self, const volt::PrintTable& table) {
        std::vector<uint8_t> text;
        {
          nb::gil_scoped_release release;
          text = self.print(table);
        }
        return nb::bytes(text.data(), text.size());
      }, "table"_a, "What was fed last, as lines of tokens.")
      .def("collect", &volt::LineEncoder::collect, nb::call_guard<nb::gil_scoped_release>(),
           "Keep what was fed last.")
      .def("take", [](volt::LineEncoder& self) {
        volt::IdBuffer& ids = self.collected();
        ids.room(1);  // a capsule holds no null pointer
        const size_t size = ids.size();
        uint32_t* data = ids.release();
        nb::capsule owner(data, [](void* p) noexcept { std::free(p); });
        Array<uint32_t> array(data, {size}, owner);
        return nb::make_tuple(array, to_numpy(std::exchange(self.line_ends(), {})));
      }, "What was kept: ids, and where in them, counted from the very first, lines end.");
}
