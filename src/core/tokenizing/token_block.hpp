// Ids as a token file has them: in the file's kind of number, with an eos after each document.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace volt {

// The ids with `eos` before each of the places `stops`, which are in order. `out` has room for all.
template <class Id>
void put_ends(const uint32_t* ids, size_t size, const int64_t* stops, size_t ends, Id eos, Id* out) {
  const auto narrow = [](uint32_t id) { return static_cast<Id>(id); };
  size_t done = 0;
  for (size_t i = 0; i < ends; ++i) {
    out = std::transform(ids + done, ids + stops[i], out, narrow);
    *out++ = eos;
    done = stops[i];
  }
  std::transform(ids + done, ids + size, out, narrow);
}

}  // namespace volt
