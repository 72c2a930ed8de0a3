// Word counts on disk, when memory is short.
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cerrno>

#include "bindings/released.hpp"
#include "bindings/arrays.hpp"
#include "bindings/convert.hpp"
#include "counting/spill.hpp"

using namespace nb::literals;

// Names of files need not be UTF-8, as std::string would have them.
using Path = std::filesystem::path;

static std::vector<std::string> strings(const std::vector<Path>& paths) {
  std::vector<std::string> found;
  for (const Path& path : paths) found.push_back(path.string());
  return found;
}

void register_runs(nb::module_& m) {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const volt::FileError& error) {
      errno = error.code;
      PyErr_SetFromErrnoWithFilename(PyExc_OSError, error.path.c_str());
    }
  });

  m.def("merge_runs", [](const std::vector<Path>& paths, const Path& target, size_t buffer,
                         const Progress& progress) {
    Released release;
    volt::merge_runs(strings(paths), target.string(), buffer, interruptible(progress));
  }, "paths"_a, "target"_a, "buffer"_a, "progress"_a, "Several sorted runs become one.");

  m.def("rank_runs", [](const std::vector<Path>& paths, const Path& prefix,
                        const std::string& pretokenizer, uint64_t min_count, size_t memory, size_t buffer,
                        const Progress& progress) {
    volt::Ranking ranking;
    {
      Released release;
      ranking = volt::rank_runs(strings(paths), prefix.string(), pretokenizer_of(pretokenizer), min_count, memory, buffer,
                                interruptible(progress));
    }
    return nb::make_tuple(std::vector<Path>(ranking.paths.begin(), ranking.paths.end()), to_numpy(std::move(ranking.counts)),
                          to_numpy(std::move(ranking.types)));
  }, "paths"_a, "prefix"_a, "pretokenizer"_a, "min_count"_a, "memory"_a, "buffer"_a, "progress"_a,
     "Runs sorted by word become runs sorted by count: (their paths, counts from the highest, types of each).");

  nb::class_<volt::RankedLines>(m, "RankedLines", "Runs sorted by count, as the lines of a counts file.")
      .def("__init__", [](volt::RankedLines* self, const std::vector<Path>& paths, uint64_t limit, size_t buffer) {
        new (self) volt::RankedLines(strings(paths), limit, buffer);
      }, "paths"_a, "limit"_a, "buffer"_a)
      .def("next", [](volt::RankedLines& self, size_t bytes) {
        std::string lines;
        {
          Released release;
          lines = self.next(bytes);
        }
        return nb::bytes(lines.data(), lines.size());
      }, "bytes"_a, "About so many bytes of whole lines; none at the end.");
}
