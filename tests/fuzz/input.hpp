// What a fuzzer hands over, read from the front: a few settings, then text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "counting/pretokenizer.hpp"

struct Input {
  const uint8_t* data;
  size_t size;

  uint8_t byte() {
    if (size == 0) return 0;
    --size;
    return *data++;
  }
  // Any that cuts text by itself.
  volt::Pretokenizer pretokenizer() { return static_cast<volt::Pretokenizer>(byte() % (volt::kPretokenizers - 1)); }
};

// Unlike assert, not compiled away: a broken promise is a finding.
inline void promise(bool kept, const char* what) {
  if (kept) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}
