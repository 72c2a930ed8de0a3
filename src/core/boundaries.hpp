// Where words start, 64 bytes at a time: the same words as the scanners of scan.hpp, found without a
// branch for every character. Only for text that is complete and valid UTF-8.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "count.hpp"
#include "scan.hpp"
#include "unicode.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace volt {

#if defined(__SSE2__)

// The kinds of 64 bytes, a bit for each byte; those of a longer character are of its kind.
struct KindMasks {
  uint64_t letter = 0, number = 0, space = 0, mark = 0, other = 0;
  uint64_t blank = 0;      // ' '
  uint64_t line_end = 0;   // LF, where lines end; it is of no kind then
  uint64_t mark_start = 0; // first byte of U+2581
  uint64_t start = 0;      // first byte of a character

  uint64_t& of(Kind kind) {
    switch (kind) {
      case kLetter: return letter;
      case kNumber: return number;
      case kSpace: return space;
      case kMark: return mark;
      default: return other;
    }
  }
};

// Reads the kinds of a text block by block.
template <Kind (*kind_of)(uint32_t), bool all_white_space>
class KindReader {
 public:
  KindReader(const uint8_t* begin, const uint8_t* end, bool lines) : p_(begin), end_(end), lines_(lines) {}

  // A white space character beyond ASCII, which the rules below don't cover?
  bool beyond() const { return beyond_; }

  KindMasks next() {
    KindMasks masks;
    if (p_ >= end_) return masks;
    const uint8_t* p = p_;
    uint8_t copy[64];
    uint64_t valid = ~uint64_t{0};
    if (end_ - p < 64) {
      std::memset(copy, 0, sizeof copy);
      std::memcpy(copy, p, end_ - p);
      valid = (uint64_t{1} << (end_ - p)) - 1;
      p = copy;
    }
    p_ += 64;

    const auto among = [](__m128i bytes, char first, char span) {
      const __m128i shifted = _mm_sub_epi8(bytes, _mm_set1_epi8(first));
      return _mm_cmpeq_epi8(_mm_min_epu8(shifted, _mm_set1_epi8(span)), shifted);
    };
    const auto bits = [](__m128i hit) {
      return static_cast<uint64_t>(static_cast<uint32_t>(_mm_movemask_epi8(hit)));
    };
    uint64_t longer = 0, starts = 0, white = 0, feeds = 0;
    for (int i = 0; i < 4; ++i) {
      const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 16 * i));
      masks.letter |= bits(among(_mm_or_si128(bytes, _mm_set1_epi8(0x20)), 'a', 25)) << (16 * i);
      masks.number |= bits(among(bytes, '0', 9)) << (16 * i);
      masks.blank |= bits(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(' '))) << (16 * i);
      feeds |= bits(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('\n'))) << (16 * i);
      if (all_white_space) white |= bits(among(bytes, '\t', 4)) << (16 * i);
      longer |= bits(bytes) << (16 * i);
      // As signed numbers the bytes that continue a character are below -64.
      starts |= bits(_mm_cmpgt_epi8(bytes, _mm_set1_epi8(-65))) << (16 * i);
    }
    masks.space = masks.blank | white;
    if (lines_) {
      masks.line_end = feeds;
      masks.space &= ~feeds;
    }
    // A character that began in the block before.
    if (spilled_) masks.of(spilled_kind_) |= (uint64_t{1} << spilled_) - 1;
    spilled_ = 0;
    for (uint64_t left = longer & starts; left; left &= left - 1) {
      const int at = __builtin_ctzll(left);
      const Decoded d = decode(p + at);
      const Kind kind = kind_of(d.code_point);
      masks.of(kind) |= ((uint64_t{1} << d.bytes) - 1) << at;
      if (kind == kMark) masks.mark_start |= uint64_t{1} << at;
      if (kind == kSpace) beyond_ = true;
      if (at + d.bytes > 64) {
        spilled_ = at + d.bytes - 64;
        spilled_kind_ = kind;
      }
    }
    masks.start = starts;
    masks.other = valid & ~(masks.letter | masks.number | masks.space | masks.mark | masks.line_end);
    return masks;
  }

 private:
  const uint8_t *p_, *end_;
  bool lines_, beyond_ = false;
  uint32_t spilled_ = 0;
  Kind spilled_kind_ = kOther;
};

inline uint64_t before(uint64_t mask, uint64_t last_mask) { return mask << 1 | last_mask >> 63; }

// Where the kind of text differs from that of the byte before.
inline uint64_t kind_changes(const KindMasks& now, const KindMasks& last) {
  return (now.letter ^ before(now.letter, last.letter)) | (now.number ^ before(now.number, last.number)) |
         (now.other ^ before(now.other, last.other));
}

inline void mark_whitespace(const uint8_t* begin, const uint8_t* end, bool lines, std::vector<uint64_t>& marks) {
  uint64_t last_blank = ~uint64_t{0};
  for (size_t b = 0; b < marks.size(); ++b) {
    const uint8_t* p = begin + 64 * b;
    uint8_t copy[64];
    uint64_t valid = ~uint64_t{0};
    if (end - p < 64) {
      std::memset(copy, 0, sizeof copy);
      std::memcpy(copy, p, end - p);
      valid = (uint64_t{1} << (end - p)) - 1;
      p = copy;
    }
    uint64_t blank = 0, feeds = 0;
    for (int i = 0; i < 4; ++i) {
      const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 16 * i));
      const auto is = [bytes, i](char c) {
        const int hit = _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(c)));
        return static_cast<uint64_t>(static_cast<uint32_t>(hit)) << (16 * i);
      };
      blank |= is(' ') | is('\t') | is('\r');
      feeds |= is('\n');
    }
    blank |= feeds;
    marks[b] = valid & ((blank ^ before(blank, last_blank)) | (lines ? feeds : 0));
    last_blank = blank;
  }
}

inline void mark_metaspace(bool at_spaces, const uint8_t* begin, const uint8_t* end, bool lines,
                           std::vector<uint64_t>& marks) {
  KindReader<metaspace_kind, false> reader(begin, end, lines);
  KindMasks last;
  last.line_end = uint64_t{1} << 63;  // a line starts here
  for (uint64_t& mark : marks) {
    const KindMasks now = reader.next();
    const uint64_t text = now.letter | now.number | now.other;
    const uint64_t changes = at_spaces ? before(now.line_end, last.line_end) : kind_changes(now, last);
    mark = now.space | now.line_end | now.mark_start |
           (text & ((changes & ~before(now.space, last.space)) | before(now.mark, last.mark)));
    last = now;
  }
}

inline bool mark_byte_level(const uint8_t* begin, const uint8_t* end, bool lines, std::vector<uint64_t>& marks) {
  KindReader<byte_level_kind, true> reader(begin, end, lines);
  KindMasks last, now = reader.next();
  for (uint64_t& mark : marks) {
    const KindMasks next = reader.next();
    const uint64_t text = now.letter | now.number | now.other;
    const uint64_t next_text = next.letter | next.number | next.other;
    const uint64_t after_space = before(now.space, last.space), after_blank = before(now.blank, last.blank);
    // The last white space before text is apart from what is before it; if a blank, it goes with the text.
    mark = now.line_end | (text & kind_changes(now, last) & ~after_space) |
           (text & after_space & ~after_blank) | (now.space & (~after_space | text >> 1 | next_text << 63));
    last = now;
    now = next;
  }
  return !reader.beyond();
}

// CR and LF among 64 bytes or fewer.
inline uint64_t mark_line_breaks(const uint8_t* p, const uint8_t* end) {
  uint8_t copy[64] = {};
  if (end - p < 64) p = static_cast<const uint8_t*>(std::memcpy(copy, p, end - p));
  uint64_t breaks = 0;
  for (int i = 0; i < 4; ++i) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 16 * i));
    const __m128i hit = _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('\r')),
                                     _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\n')));
    breaks |= static_cast<uint64_t>(static_cast<uint32_t>(_mm_movemask_epi8(hit))) << (16 * i);
  }
  return breaks;
}

// The patterns of scan_pattern.
inline bool mark_pattern(Pretokenizer pretokenizer, const uint8_t* begin, const uint8_t* end, bool lines,
                         std::vector<uint64_t>& marks) {
  KindReader<byte_level_kind, true> reader(begin, end, lines);
  const uint64_t most_numbers = pretokenizer == Pretokenizer::qwen2 ? 1 : 3;
  KindMasks last, now = reader.next();
  uint64_t last_sign = 0, last_tail = 0, last_breaks = 0, numbers = 0;
  const uint8_t* p = begin;
  for (uint64_t& mark : marks) {
    const KindMasks next = reader.next();
    const uint64_t breaks = mark_line_breaks(p, end) & ~now.line_end;
    if (lines && breaks) return false;  // a CR may belong to the line end, or not
    const uint64_t text = now.letter | now.number | now.other;
    const uint64_t next_text = next.letter | next.number | next.other;
    const uint64_t after_blank = before(now.blank, last.blank);
    const uint64_t after_other = before(now.other, last.other);
    // One sign goes with the letters behind it, if it is the first and has no blank before it.
    uint64_t sign = now.other & ~after_other & ~after_blank;
    for (int i = 0; i < 3; ++i) sign |= before(sign, last_sign) & now.other & ~now.start;
    // Line breaks go with the signs before them.
    const uint64_t tails = breaks & (after_other | last_tail >> 63);
    const uint64_t tail = breaks & ~(breaks + tails);
    const uint64_t space = now.space & ~tail, last_space = last.space & ~last_tail;
    const uint64_t after_space = before(space, last_space);
    mark = now.line_end | (now.other & ~after_other & ~after_blank) |
           (now.letter & ~before(now.letter, last.letter) & ~before(sign, last_sign) &
            ~before(now.space & ~breaks, last.space & ~last_breaks)) |
           (space & (~after_space | (~breaks & (text >> 1 | next_text << 63))));
    // White space behind the last line break is another word; the end of the text may be as good as one.
    for (uint64_t left = space & ~breaks & after_space & before(breaks, last_breaks); left; left &= left - 1) {
      const int at = __builtin_ctzll(left);
      const uint8_t* q = p + at;
      while (q < end && (*q == ' ' || *q == '\t' || *q == '\v' || *q == '\f')) ++q;
      const bool ends = q == end ? pretokenizer == Pretokenizer::cl100k : is_line_break(*q);
      if (!ends) mark |= uint64_t{1} << at;
    }
    for (uint64_t left = now.number & now.start; left; left &= left - 1) {
      const int at = __builtin_ctzll(left);
      if (!(before(now.number, last.number) >> at & 1)) numbers = 0;
      if (numbers++ % most_numbers == 0) mark |= uint64_t{1} << at;
    }
    last = now;
    last_sign = sign;
    last_tail = tail;
    last_breaks = breaks;
    now = next;
    p += 64;
  }
  return !reader.beyond();
}

// `at_spaces`: metaspace words end at spaces only. Set a bit in `marks` for every byte of the text where a word starts (`whitespace`: or ends) or, if
// `lines`, a line ends; not for the end of the text. What byte-level patterns do with apostrophes is
// left to the caller. False if the text has something that only the scanners know.
inline bool mark_words(Pretokenizer pretokenizer, const uint8_t* begin, const uint8_t* end, bool lines,
                       std::vector<uint64_t>& marks, bool at_spaces = false) {
  marks.resize((end - begin + 63) / 64);
  switch (pretokenizer) {
    case Pretokenizer::whitespace: mark_whitespace(begin, end, lines, marks); return true;
    case Pretokenizer::metaspace: mark_metaspace(at_spaces, begin, end, lines, marks); return true;
    case Pretokenizer::byte_level: return mark_byte_level(begin, end, lines, marks);
    case Pretokenizer::o200k: return false;
    default: return mark_pattern(pretokenizer, begin, end, lines, marks);
  }
}

#else

inline bool mark_words(Pretokenizer, const uint8_t*, const uint8_t*, bool, std::vector<uint64_t>&, bool = false) {
  return false;
}

#endif

}  // namespace volt
