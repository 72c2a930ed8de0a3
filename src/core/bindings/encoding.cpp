// Text -> ids.
#include <nanobind/stl/string.h>

#include <cstdlib>
#include <tuple>

#include "bindings/released.hpp"
#include "bindings/arrays.hpp"
#include "bindings/convert.hpp"
#include "tokenizing/encode.hpp"
#include "tokenizing/line_encoder.hpp"
#include "tokenizing/merge_encoder.hpp"

using namespace nb::literals;

namespace {

void make_encoder(volt::Encoder* self, const std::string& pretokenizer, const std::string& rule,
                  const ArrayIn<uint8_t>& text, const ArrayIn<uint64_t>& offsets,
                  const ArrayIn<uint8_t>& kinds, const ArrayIn<uint8_t>& marks,
                  const ArrayIn<uint32_t>& left, const ArrayIn<uint32_t>& right,
                  const ArrayIn<uint64_t>& ranks, const ArrayIn<double>& scores, size_t visible,
                  int64_t unknown, bool fuse_unknown, const volt::Matching& matching,
                  const ArrayIn<uint32_t>& pairs) {
  const size_t size = kinds.size();
  if (rule != "pairs" && rule != "concat") throw std::invalid_argument("unknown merge rule: " + rule);
  for (const size_t column :
       {marks.size(), left.size(), right.size(), ranks.size(), scores.size(), offsets.size() - 1})
    check_size(column, size);
  check_offsets(offsets, text.size(), true);
  if (pairs.size() % 3 != 0) throw std::invalid_argument("pairs are three numbers each");
  const volt::TokenView tokens{
      text.data(), offsets.data(), kinds.data(), marks.data(), left.data(), right.data(), ranks.data(),
      scores.data(), size, visible, unknown < 0 ? volt::kNoToken : static_cast<uint32_t>(unknown),
      fuse_unknown, pairs.size() == 0 ? nullptr : pairs.data(), pairs.size() / 3};
  Released release;
  new (self) volt::Encoder(pretokenizer_of(pretokenizer),
                           rule == "pairs" ? volt::MergeRule::pairs : volt::MergeRule::concat, matching,
                           tokens);
}

// All pairs that make a token, as the constructor takes them.
Array<uint32_t> pairs_of(const volt::Encoder& self) {
  std::vector<uint32_t> found;
  self.tables().pairs.each([&](uint32_t left, uint32_t right, uint32_t place) {
    found.insert(found.end(), {left, right, place});
  });
  return to_numpy(std::move(found));
}

// The two tokens that each text is merged from last.
nb::tuple last_pairs(const volt::Encoder& self, const ArrayIn<uint8_t>& text, const ArrayIn<uint64_t>& offsets,
                     const ArrayIn<uint8_t>& ends) {
  check_encodable(text, offsets, self.bytes_only());
  check_size(ends.size(), offsets.size() - 1);
  std::vector<uint32_t> left(ends.size()), right(ends.size());
  {
    Released release;
    volt::MergeEncoder merger(self.tables());
    for (size_t t = 0; t < ends.size(); ++t) {
      volt::poll();
      const uint64_t begin = offsets.data()[t];
      std::tie(left[t], right[t]) =
          merger.last_pair(text.data() + begin, offsets.data()[t + 1] - begin, ends.data()[t] != 0);
    }
  }
  return nb::make_tuple(to_numpy(std::move(left)), to_numpy(std::move(right)));
}

// The UTF-8 of a string; it lives as long as the string does.
volt::TextView utf8_of(nb::handle text) {
  Py_ssize_t bytes = 0;
  const char* utf8 = PyUnicode_AsUTF8AndSize(text.ptr(), &bytes);
  if (utf8 == nullptr) throw nb::python_error();
  return {reinterpret_cast<const uint8_t*>(utf8), static_cast<size_t>(bytes)};
}

constexpr uint32_t kKeptNumbers = 1 << 18;

// A new reference to the number of an id. Numbers are kept and shared: a list of ids is made in half the
// time that it takes to make every number again. They live until the interpreter ends.
PyObject* number_of(uint32_t id) {
#ifdef Py_GIL_DISABLED  // threads would race for the table
  return PyLong_FromUnsignedLong(id);
#endif
  static std::vector<PyObject*> kept(kKeptNumbers, nullptr);
  if (id >= kKeptNumbers) return PyLong_FromUnsignedLong(id);
  if (kept[id] == nullptr) kept[id] = PyLong_FromUnsignedLong(id);
  Py_XINCREF(kept[id]);
  return kept[id];
}

nb::list to_list(const uint32_t* ids, size_t size) {
  PyObject* list = PyList_New(static_cast<Py_ssize_t>(size));
  if (list == nullptr) throw nb::python_error();
  nb::list owner = nb::steal<nb::list>(list);
  for (size_t i = 0; i < size; ++i) {
    PyObject* id = number_of(ids[i]);
    if (id == nullptr) throw nb::python_error();
    NB_LIST_SET_ITEM(list, static_cast<Py_ssize_t>(i), id);
  }
  return owner;
}

// Lists of ids contain nothing that the garbage collector could free. Without this it would look at all
// of them again and again while they are made: a fifth of the time of a large batch.
struct NoGarbage {
  const int enabled = PyGC_Disable();
  ~NoGarbage() {
    if (enabled) PyGC_Enable();
  }
};

// A mask of allowed special tokens: empty, or one byte per token.
const uint8_t* allowed_of(const volt::Encoder& encoder, const nb::bytes& allowed) {
  if (allowed.size() == 0) return nullptr;
  if (allowed.size() != encoder.size())
    throw std::invalid_argument("`allowed` must have one byte per token");
  return reinterpret_cast<const uint8_t*>(allowed.c_str());
}

// The text between names, and the names: every second item is one. The longest name wins.
nb::list split_names(const volt::Encoder& self, nb::str text, const nb::bytes& allowed) {
  const volt::TextView view = utf8_of(text);
  const volt::NameTable& names = self.tables().names;
  const volt::NameTable::Active active = names.active(allowed_of(self, allowed));
  nb::list parts;
  const auto add = [&](const uint8_t* begin, const uint8_t* end) {
    parts.append(nb::str(reinterpret_cast<const char*>(begin), static_cast<size_t>(end - begin)));
  };
  volt::NameTable::Window window;
  volt::NameTable::Finder finder(names, active, window);
  const uint8_t *p = view.text, *end = view.text + view.bytes;
  for (;;) {
    const auto match = active.longest == 0 ? volt::NameTable::Match{end, end, volt::kNoToken}
                                           : finder.find(p, end, end);
    add(p, match.token == volt::kNoToken ? end : match.begin);
    if (match.token == volt::kNoToken) return parts;
    add(match.begin, match.end);
    p = match.end;
  }
}

constexpr size_t kLong = 1 << 14;  // a short text takes less time than releasing the lock

nb::list encode(const volt::Encoder& self, nb::str text, const nb::bytes& allowed, double dropout,
                uint64_t seed) {
  const volt::TextView view = utf8_of(text);
  const volt::EncodeOptions options{allowed_of(self, allowed), {dropout, seed}};
  volt::IdBuffer ids;
  std::vector<uint64_t> ends;
  if (view.bytes < kLong) {
    self.encode(&view, 1, 0, options, 1, ids, ends);
  } else {
    Released release;
    self.encode(&view, 1, 0, options, 1, ids, ends);
  }
  return to_list(ids.data(), ids.size());
}

// The ids as an array, without a Python object per id.
Array<uint32_t> to_array(volt::IdBuffer& ids) {
  ids.room(1);  // a capsule can't contain a null pointer
  const size_t size = ids.size();
  uint32_t* data = ids.release();
  nb::capsule owner(data, [](void* p) noexcept { std::free(p); });
  return Array<uint32_t>(data, {size}, owner);
}

Array<uint32_t> encode_array(const volt::Encoder& self, nb::str text, const nb::bytes& allowed) {
  const volt::TextView view = utf8_of(text);
  const volt::EncodeOptions options{allowed_of(self, allowed), {}};
  volt::IdBuffer ids;
  std::vector<uint64_t> ends;
  {
    Released release;
    self.encode(&view, 1, 0, options, 1, ids, ends);
  }
  return to_array(ids);
}

size_t count(const volt::Encoder& self, nb::str text, const nb::bytes& allowed) {
  const volt::TextView view = utf8_of(text);
  const uint8_t* mask = allowed_of(self, allowed);
  if (view.bytes < kLong) return self.count(view, mask);
  Released release;
  return self.count(view, mask);
}

nb::list encode_batch(const volt::Encoder& self, nb::list texts, const nb::bytes& allowed, double dropout,
                      uint64_t seed, unsigned threads) {
  // The strings are kept, in case another thread changes the list.
  std::vector<nb::object> kept;
  std::vector<volt::TextView> views;
  for (nb::handle text : texts) {
    if (!PyUnicode_Check(text.ptr())) throw nb::type_error("a text that is not a string");
    kept.push_back(nb::borrow(text));
    views.push_back(utf8_of(text));
  }
  const volt::EncodeOptions options{allowed_of(self, allowed), {dropout, seed}};
  volt::IdBuffer ids;
  std::vector<uint64_t> ends;
  {
    Released release;
    self.encode(views.data(), views.size(), 0, options, threads, ids, ends);
  }
  nb::list out;
  const NoGarbage guard;
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
    Released release;
    self.encode_words(text.data(), offsets.data(), offsets.size() - 1, threads, ids, id_offsets);
  }
  return nb::make_tuple(to_numpy(std::move(ids)), to_numpy(std::move(id_offsets)));
}

void make_print_table(volt::PrintTable* self, const ArrayIn<uint8_t>& text, const ArrayIn<uint64_t>& offsets) {
  check_offsets(offsets, text.size(), true);
  new (self) volt::PrintTable{{text.data(), text.data() + text.size()},
                              {offsets.data(), offsets.data() + offsets.size()}};
}

void make_line_encoder(volt::LineEncoder* self, const volt::Encoder& encoder, const nb::bytes& allowed,
                       double dropout, uint64_t seed, unsigned threads, const std::string& reads) {
  const uint8_t* mask = allowed_of(encoder, allowed);
  new (self) volt::LineEncoder(encoder, {mask, mask + allowed.size()}, {dropout, seed}, threads,
                               reads_documents(reads));
}

nb::tuple feed(volt::LineEncoder& self, nb::handle data, bool last) {
  BufferView buffer(data);
  volt::FeedResult r;
  {
    Released release;
    r = self.feed(buffer.data(), buffer.size(), last);
  }
  return nb::make_tuple(r.consumed, r.lines, r.invalid_at);
}

nb::tuple feed_documents(volt::LineEncoder& self, nb::handle data, const ArrayIn<uint64_t>& ends) {
  BufferView buffer(data);
  const std::vector<uint64_t> stops = document_ends(ends, buffer.size());
  volt::FeedResult r;
  {
    Released release;
    r = self.feed_documents(buffer.data(), stops);
  }
  return nb::make_tuple(r.lines, r.invalid_at);
}

nb::bytes print(volt::LineEncoder& self, const volt::PrintTable& table) {
  std::vector<uint8_t> text;
  {
    Released release;
    text = self.print(table);
  }
  return nb::bytes(text.data(), text.size());
}

nb::tuple take(volt::LineEncoder& self) {
  return nb::make_tuple(to_array(self.collected()), to_numpy(std::exchange(self.line_ends(), {})));
}

}  // namespace

void register_encoding(nb::module_& m) {
  nb::class_<volt::Encoder>(m, "Encoder", "A vocabulary that turns text into ids.")
      .def("__init__", &make_encoder, "pretokenizer"_a, "merge_rule"_a, "text"_a, "offsets"_a, "kinds"_a,
           "marks"_a, "left"_a, "right"_a, "ranks"_a, "scores"_a, "visible"_a, "unknown"_a,
           "fuse_unknown"_a, "matching"_a, "pairs"_a)
      .def("pairs", &pairs_of, "All pairs that make a token: two tokens, and the place of the merge.")
      .def("last_pairs", &last_pairs, "text"_a, "offsets"_a, "ends"_a,
           "The two tokens that each text is merged from last; NO_TOKEN where it does not become two.")
      .def("split_names", &split_names, "text"_a, "allowed"_a, "Text and names in turn.")
      .def("encode", &encode, "text"_a, "allowed"_a, "dropout"_a, "seed"_a)
      .def("encode_array", &encode_array, "text"_a, "allowed"_a)
      .def("count", &count, "text"_a, "allowed"_a, "How many ids a text has.")
      .def("encode_batch", &encode_batch, "texts"_a, "allowed"_a, "dropout"_a, "seed"_a, "threads"_a)
      .def("encode_words", &encode_words, "text"_a, "offsets"_a, "threads"_a);

  nb::class_<volt::PrintTable>(m, "PrintTable", "What each token looks like in a line of output.")
      .def("__init__", &make_print_table, "text"_a, "offsets"_a);

  nb::class_<volt::LineEncoder>(m, "LineEncoder", "Encodes the lines or documents of files.")
      .def("__init__", &make_line_encoder, "encoder"_a, "allowed"_a, "dropout"_a, "seed"_a, "threads"_a,
           "reads"_a, nb::keep_alive<1, 2>())
      .def("feed", &feed, "data"_a, "last"_a,
           "Returns (bytes consumed, lines, offset of invalid UTF-8 or -1).")
      .def("feed_documents", &feed_documents, "text"_a, "ends"_a,
           "Whole documents: (documents, offset of invalid UTF-8 or -1).")
      .def_prop_ro("unfinished", &volt::LineEncoder::unfinished)
      .def("print", &print, "table"_a, "What was fed last, as lines of tokens.")
      .def("collect", &volt::LineEncoder::collect, nb::call_guard<Released>(),
           "Keep what was fed last.")
      .def("take", &take, "What was kept: ids, and where each line ends, counted in ids from the first one.");
}
