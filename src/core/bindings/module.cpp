// The native module volt._core: a table of contents. Python is known in this folder only.
#include <nanobind/nanobind.h>

#include "base/parallel.hpp"
#include "base/stop.hpp"

namespace nb = nanobind;

void register_unicode(nb::module_& m);    // unicode.cpp: classes of characters, valid UTF-8
void register_counting(nb::module_& m);   // counting.cpp: text -> words with counts
void register_runs(nb::module_& m);       // runs.cpp: counts on disk, when memory is short
void register_merging(nb::module_& m);    // merging.cpp: words -> merges
void register_curve(nb::module_& m);      // curve.cpp: merges -> frequencies and sums at every size
void register_pieces(nb::module_& m);     // pieces.cpp: words cut with tokens that have no parents
void register_transport(nb::module_& m);  // transport.cpp: the sums of a solver's iteration
void register_selection(nb::module_& m);  // selection.cpp: tokens selected by transport, and the bound
void register_quality(nb::module_& m);    // quality.cpp: splits, words cut at every size, held-out loss
void register_normalizing(nb::module_& m);  // normalizing.cpp: text -> normalized text
void register_encoding(nb::module_& m);   // encoding.cpp: text -> ids
void register_decoding(nb::module_& m);   // decoding.cpp: ids -> text
void register_tokens(nb::module_& m);     // tokens.cpp: the texts of all tokens, and files that list them
void register_files(nb::module_& m);      // files.cpp: words, candidates and tokens as text

NB_MODULE(_core, m) {
#ifdef NDEBUG
  nb::set_leak_warnings(false);  // objects that live until the interpreter ends are not leaks
#endif
  m.doc() = "The native code of volt. volt.reference has slow, readable twins.";
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const volt::Stopped& stopped) {
      PyErr_SetString(PyExc_KeyboardInterrupt, stopped.what());
    }
  });
  m.def("looks", [] { return volt::Call::looks().load(); },
        "How often native code that works long has looked whether to stop.");
  m.def("stop_all", &volt::stop_all, "Stop the calls of native code that other threads are in.");
  m.def("has_room_for_thread", &volt::has_room_for_thread, "Is there memory for another thread?");
  m.def("begin_thread", &volt::begin_thread, "Have the variables of a new thread allocated.");
  register_unicode(m);
  register_counting(m);
  register_runs(m);
  register_merging(m);
  register_curve(m);
  register_pieces(m);
  register_transport(m);
  register_selection(m);
  register_quality(m);
  register_normalizing(m);
  register_encoding(m);
  register_decoding(m);
  register_tokens(m);
  register_files(m);
}
