// Text -> words with counts.
#include <nanobind/ndarray.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "base/hash.hpp"
#include "bindings/released.hpp"
#include "bindings/arrays.hpp"
#include "bindings/convert.hpp"
#include "counting/count.hpp"
#include "counting/excerpt.hpp"
#include "counting/word_file.hpp"
#include "counting/words.hpp"

using namespace nb::literals;

namespace {

nb::tuple feed(volt::Counter& self, nb::handle data, bool last, uint64_t weight) {
  BufferView buffer(data);
  volt::FeedResult r;
  {
    Released release;
    r = self.feed(buffer.data(), buffer.size(), last, weight);
  }
  return nb::make_tuple(r.consumed, r.lines, r.invalid_at);
}

nb::tuple feed_documents(volt::Counter& self, nb::handle data, const ArrayIn<uint64_t>& ends, uint64_t weight) {
  BufferView buffer(data);
  const std::vector<uint64_t> stops = document_ends(ends, buffer.size());
  volt::FeedResult r;
  {
    Released release;
    r = self.feed_documents(buffer.data(), stops, weight);
  }
  return nb::make_tuple(r.lines, r.invalid_at);
}

nb::tuple read_words(volt::Counter& self, nb::handle data, bool last, uint64_t weight) {
  BufferView buffer(data);
  volt::ReadResult r;
  {
    Released release;
    r = volt::read_words(self, buffer.data(), buffer.size(), last, weight);
  }
  return nb::make_tuple(r.consumed, r.lines, r.problem);
}

void add_words(volt::Counter& self, const ArrayIn<uint8_t>& text, const ArrayIn<uint64_t>& offsets,
               const ArrayIn<uint64_t>& counts, uint64_t weight) {
  check_words(text, offsets, counts);
  Released release;
  for (size_t i = 0; i < counts.size(); ++i) {
    volt::poll();
    uint64_t count = 0;
    if (__builtin_mul_overflow(counts.data()[i], weight, &count) || count >> 63)
      throw std::overflow_error("the weighted counts do not fit 63 bits");
    self.add({reinterpret_cast<const char*>(text.data()) + offsets.data()[i],
              offsets.data()[i + 1] - offsets.data()[i]}, count);
  }
}

nb::dict totals(const volt::Counter& self) {
  const volt::CountTotals& t = self.totals();
  nb::dict out;
  out["words"] = t.words;
  out["cut_words"] = t.cut_words;
  out["reserved"] = t.reserved;
  out["pruned_words"] = t.pruned_words;
  out["max_undercount"] = t.max_undercount;
  return out;
}

nb::tuple finish(volt::Counter& self, uint64_t min_count) {
  volt::WordList list;
  {
    Released release;
    list = self.finish(min_count);
  }
  return nb::make_tuple(to_numpy(std::move(list.text)), to_numpy(std::move(list.offsets)),
                        to_numpy(std::move(list.counts)));
}

Array<uint64_t> hash_documents(nb::handle data, const ArrayIn<uint64_t>& ends, uint64_t seed,
                               bool lines) {
  BufferView text(data);
  for (size_t i = 0; i < ends.size(); ++i)
    if (ends.data()[i] > text.size() || (i > 0 && ends.data()[i] < ends.data()[i - 1]))
      throw std::invalid_argument("documents that end outside the text, or out of order");
  std::vector<uint64_t> hashes(ends.size());
  {
    Released release;
    size_t start = 0;
    for (size_t i = 0; i < ends.size(); ++i) {
      const size_t end = ends.data()[i];
      const bool ended = lines && end > start && text.data()[end - 1] == '\n';
      hashes[i] = volt::seeded_hash(text.data() + start, end - start - ended, seed, 0);
      start = end;
    }
  }
  return to_numpy(std::move(hashes));
}

nb::tuple taken_lines(nb::handle data, uint64_t first, unsigned level) {
  BufferView buffer(data);
  volt::TakenLines found;
  {
    Released release;
    found = volt::take_lines(buffer.data(), buffer.data() + buffer.size(), first, level);
  }
  return nb::make_tuple(found.lines, found.complete, to_numpy(std::move(found.numbers)),
                        to_numpy(std::move(found.begins)), to_numpy(std::move(found.ends)));
}

}  // namespace

void register_counting(nb::module_& m) {
  m.def("taken_lines", &taken_lines, "data"_a, "first"_a, "level"_a,
        "The lines of an excerpt. Returns the number of lines that end in the data, how many bytes they are, and\n"
        "the numbers, begins and ends of those that are taken; the first line has number `first`.");

  m.def("words_of", [](std::string_view text, const std::string& pretokenizer) {
    return volt::words_of(pretokenizer_of(pretokenizer), text);
  }, "text"_a, "pretokenizer"_a, "The words of one text, in which a line end is text like any other.");

  m.def("hash_documents", &hash_documents, "text"_a, "ends"_a, "seed"_a, "lines"_a,
        "A number for each document by its content: document i is text[ends[i-1]:ends[i]]. If documents are\n"
        "lines, the line feed at their end does not count.");

  m.def("cuts_of", [](std::string_view text, const std::string& pretokenizer) {
    return volt::cuts_of(pretokenizer_of(pretokenizer), text);
  }, "text"_a, "pretokenizer"_a, "Where a document may be cut in two, in bytes.");

  nb::class_<volt::Counter>(m, "Counter", "Counts the words of text that is fed in parts.")
      .def("__init__", [](volt::Counter* self, const std::string& pretokenizer, uint32_t max_word_length,
                          unsigned threads, uint64_t max_types, const std::string& reads) {
        new (self) volt::Counter(pretokenizer_of(pretokenizer), max_word_length, threads, max_types,
                                 reads_documents(reads));
      }, "pretokenizer"_a, "max_word_length"_a, "threads"_a, "max_types"_a, "reads"_a)
      .def("feed", &feed, "data"_a, "last"_a, "weight"_a,
           "Returns (bytes consumed, lines, offset of invalid UTF-8 or -1).")
      .def("feed_documents", &feed_documents, "text"_a, "ends"_a, "weight"_a,
           "Whole documents: (lines, offset of invalid UTF-8 or -1).")
      .def_prop_ro("between_texts", &volt::Counter::between_texts)
      .def("read_words", &read_words, "data"_a, "last"_a, "weight"_a,
           "Lines `word<TAB>count`: (bytes consumed, lines, problem or '').")
      .def("add_words", &add_words, "text"_a, "offsets"_a, "counts"_a, "weight"_a,
           "Words that were counted before by the same rule.")
      .def_prop_ro("totals", &totals)
      .def("memory", &volt::Counter::memory, "text_bytes"_a,
           "An upper bound of the bytes used while so much more text is counted and then spilled.")
      .def("spill", [](volt::Counter& self, const std::filesystem::path& prefix) {
        Released release;
        return self.spill(prefix.string());
      }, "prefix"_a,
           "Write the words as sorted runs prefix0, prefix1 ... and forget them. Returns how many runs.")
      .def("finish", &finish, "min_count"_a, "The words (text, offsets, counts), most frequent first.");
}
