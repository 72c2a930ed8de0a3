// Whether text is UTF-8. Processors with AVX2 look at 32 bytes at a time.
#include <algorithm>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/unicode.hpp"

namespace volt {
namespace {

const uint8_t* find_invalid_plain(const uint8_t* p, const uint8_t* end) {
  while (p < end) {
    // Most text is ASCII: sixteen bytes at a time.
    while (end - p >= 16) {
      uint64_t low, high;
      std::memcpy(&low, p, 8);
      std::memcpy(&high, p + 8, 8);
      if ((low | high) & 0x8080808080808080ull) break;
      p += 16;
    }
    while (p < end && *p < 0x80) ++p;
    // Now a run of characters beyond ASCII.
    while (p < end && *p >= 0x80) {
      const uint8_t first = *p;
      const ptrdiff_t left = end - p;
      if (first >= 0xC2 && first < 0xE0) {
        if (left < 2 || !is_continuation(p[1])) return p;
        p += 2;
      } else if (first >= 0xE0 && first < 0xF0) {
        if (left < 3 || !is_continuation(p[1]) || !is_continuation(p[2])) return p;
        if (first == 0xE0 && p[1] < 0xA0) return p;   // overlong
        if (first == 0xED && p[1] >= 0xA0) return p;  // surrogate
        p += 3;
      } else if (first >= 0xF0 && first < 0xF5) {
        if (left < 4 || !is_continuation(p[1]) || !is_continuation(p[2]) || !is_continuation(p[3]))
          return p;
        if (first == 0xF0 && p[1] < 0x90) return p;   // overlong
        if (first == 0xF4 && p[1] >= 0x90) return p;  // past U+10FFFF
        p += 4;
      } else {
        return p;
      }
    }
  }
  return nullptr;
}

#if defined(__x86_64__)
// Keiser and Lemire, Validating UTF-8 in less than one instruction per byte, 2021. A byte and the one before
// it tell everything but whether the third and fourth byte of a character are there. Each of three tables,
// asked by half a byte, says which errors are possible; what all three say is one.
enum Error : uint8_t {
  too_short = 1,       // a first byte, and then none that continues it
  too_long = 2,        // ASCII, and then a byte that continues something
  overlong_3 = 4,
  too_large = 8,       // past U+10FFFF
  surrogate = 16,
  overlong_2 = 32,
  overlong_4 = 64,     // or F5 and above, with a second byte of 8x
  two_continue = 128,  // two that continue something: right in a third or fourth byte
};

struct Tables {
  alignas(16) uint8_t first_high[16], first_low[16], second_high[16];
};
constexpr Tables kTables = [] {
  Tables t{};
  for (unsigned half = 0; half < 16; ++half) {
    t.first_high[half] = half < 8 ? too_long : half < 12 ? two_continue : too_short;
    t.first_low[half] = too_short | too_long | two_continue | (half > 3 ? too_large : 0) |
                        (half > 4 ? overlong_4 : 0);
    t.second_high[half] =
        half < 8 || half > 11 ? too_short : too_long | two_continue | overlong_2 | (half > 8 ? too_large : 0);
  }
  t.first_high[12] |= overlong_2;
  t.first_high[14] |= overlong_3 | surrogate;
  t.first_high[15] |= too_large | overlong_4;
  t.first_low[0] |= overlong_2 | overlong_3 | overlong_4;
  t.first_low[1] |= overlong_2;
  t.first_low[13] |= surrogate;
  t.second_high[8] |= overlong_3 | overlong_4;
  t.second_high[9] |= overlong_3;
  t.second_high[10] |= surrogate;
  t.second_high[11] |= surrogate;
  return t;
}();

[[gnu::target("avx2")]] inline __m256i look_up(const uint8_t* table, __m256i halves) {
  const __m128i half = _mm_load_si128(reinterpret_cast<const __m128i*>(table));
  return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(half), halves);
}

// The bytes that stand `by` before those of a block.
template <int by>
[[gnu::target("avx2")]] inline __m256i before(__m256i block, __m256i last) {
  return _mm256_alignr_epi8(block, _mm256_permute2x128_si256(last, block, 0x21), 16 - by);
}

[[gnu::target("avx2")]] inline __m256i errors_in(__m256i block, __m256i last) {
  const __m256i low = _mm256_set1_epi8(0x0F);
  const __m256i one = before<1>(block, last);
  const __m256i pairs = _mm256_and_si256(
      _mm256_and_si256(look_up(kTables.first_high, _mm256_and_si256(_mm256_srli_epi16(one, 4), low)),
                       look_up(kTables.first_low, _mm256_and_si256(one, low))),
      look_up(kTables.second_high, _mm256_and_si256(_mm256_srli_epi16(block, 4), low)));
  const __m256i third = _mm256_subs_epu8(before<2>(block, last), _mm256_set1_epi8(0xE0 - 0x80));
  const __m256i fourth = _mm256_subs_epu8(before<3>(block, last), _mm256_set1_epi8(0xF0 - 0x80));
  const __m256i later = _mm256_and_si256(_mm256_or_si256(third, fourth), _mm256_set1_epi8(static_cast<char>(0x80)));
  return _mm256_xor_si256(pairs, later);
}

// A block with an error, or the rest of less than a block, is left to the plain function, from the start of
// the character before it.
[[gnu::target("avx2")]] const uint8_t* find_invalid_avx2(const uint8_t* p, const uint8_t* end) {
  const uint8_t* const begin = p;
  __m256i last = _mm256_setzero_si256();
  for (; end - p >= 32; p += 32) {
    const __m256i block = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    // Nothing is wrong in ASCII after ASCII.
    if (_mm256_movemask_epi8(_mm256_or_si256(block, last)) != 0) {
      const __m256i errors = errors_in(block, last);
      if (!_mm256_testz_si256(errors, errors)) break;
    }
    last = block;
  }
  for (int back = 0; back < 4 && p > begin; ++back)
    if (!is_continuation(*--p)) break;
  return find_invalid_plain(p, end);
}
#endif

}  // namespace

const uint8_t* find_invalid_utf8(const uint8_t* p, const uint8_t* end) {
#if defined(__x86_64__)
  static const bool avx2 = __builtin_cpu_supports("avx2");
  if (avx2 && end - p >= 64) return find_invalid_avx2(p, end);
#endif
  return find_invalid_plain(p, end);
}

}  // namespace volt
