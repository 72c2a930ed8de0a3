// Hashing eight bytes at a time: for the tables of words, and for what is drawn by a seed.
#pragma once

#include <bit>
#include <cstddef>
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

// A number that looks random and depends on the bytes, a seed and the number of the draw. The same on
// every machine: samples and splits are drawn by it.
inline uint64_t seeded_hash(const uint8_t* data, size_t bytes, uint64_t seed, uint64_t draw) {
  uint64_t state = mix(seed ^ 0x9E3779B97F4A7C15ull, draw ^ 0xE7037ED1A0B428DBull);
  size_t at = 0;
  for (; at + 8 <= bytes; at += 8) {
    uint64_t chunk = load(data + at);
    if constexpr (std::endian::native == std::endian::big) chunk = __builtin_bswap64(chunk);
    state = mix(state ^ chunk, 0x9E3779B97F4A7C15ull) + 0xD6E8FEB86659FD93ull;
  }
  if (at < bytes) {
    uint64_t chunk = 0;
    for (size_t i = 0; at + i < bytes; ++i) chunk |= uint64_t{data[at + i]} << (8 * i);
    state = mix(state ^ chunk, 0x9E3779B97F4A7C15ull) + 0xD6E8FEB86659FD93ull;
  }
  state = mix(state ^ bytes, 0xE7037ED1A0B428DBull);
  return mix(state ^ seed, 0xD6E8FEB86659FD93ull);
}

}  // namespace volt
