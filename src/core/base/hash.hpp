// Hashing eight bytes at a time, for the tables of words.
#pragma once

#include <cstdint>
#include <cstring>

namespace volt {

inline uint64_t load(const uint8_t* p) {
  uint64_t value;
  std::memcpy(&value, p, 8);
  return value;
}

// Multiply to 128 bits and fold: the mixing step of wyhash.
inline uint64_t mix(uint64_t a, uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

}  // namespace volt
