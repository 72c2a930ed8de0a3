// Where words start, 64 bytes at a time: the same words as the scanners of scan.hpp, found without a
// branch per character. Only for text that is complete and valid UTF-8.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "counting/kinds.hpp"
#include "counting/scan_patterns.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace volt {

#if defined(__SSE2__)

// 64 bytes of text from p on, with zeros after its end; `valid` has a bit for each byte of text.
struct Block {
  const uint8_t* bytes;
  uint64_t valid = ~uint64_t{0};
  uint8_t copy[64];

  Block(const uint8_t* p, const uint8_t* end) : bytes(p) {
    if (end - p >= 64) return;
    std::memset(copy, 0, sizeof copy);
    std::memcpy(copy, p, end - p);
    valid = (uint64_t{1} << (end - p)) - 1;
    bytes = copy;
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  __m128i sixteen(int i) const { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + 16 * i)); }
};

// Which of sixteen bytes equal a character; and one bit per byte of what a comparison has found.
inline __m128i equal(__m128i bytes, char c) { return _mm_cmpeq_epi8(bytes, _mm_set1_epi8(c)); }
inline uint64_t bits_of(__m128i hit) {
  return static_cast<uint64_t>(static_cast<uint32_t>(_mm_movemask_epi8(hit)));
}

// The kinds of 64 bytes, one bit per byte. All bytes of a longer character have its kind.
struct KindMasks {
  uint64_t letter = 0, number = 0, space = 0, mark = 0, other = 0;
  uint64_t blank = 0;       // ' '
  uint64_t line_end = 0;    // LF, where lines end; it has no kind then
  uint64_t mark_start = 0;  // first byte of U+2581
  uint64_t start = 0;       // first byte of a character

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

  KindMasks next() {
    KindMasks masks;
    if (p_ >= end_) return masks;
    const Block block(p_, end_);
    p_ += 64;

    const auto among = [](__m128i bytes, char first, char span) {
      const __m128i shifted = _mm_sub_epi8(bytes, _mm_set1_epi8(first));
      return bits_of(_mm_cmpeq_epi8(_mm_min_epu8(shifted, _mm_set1_epi8(span)), shifted));
    };
    uint64_t longer = 0, starts = 0, white = 0, feeds = 0;
    for (int i = 0; i < 4; ++i) {
      const __m128i bytes = block.sixteen(i);
      masks.letter |= among(_mm_or_si128(bytes, _mm_set1_epi8(0x20)), 'a', 25) << (16 * i);
      masks.number |= among(bytes, '0', 9) << (16 * i);
      masks.blank |= bits_of(equal(bytes, ' ')) << (16 * i);
      feeds |= bits_of(equal(bytes, '\n')) << (16 * i);
      if (all_white_space) white |= among(bytes, '\t', 4) << (16 * i);
      longer |= bits_of(bytes) << (16 * i);
      // As signed numbers the bytes that continue a character are below -64.
      starts |= bits_of(_mm_cmpgt_epi8(bytes, _mm_set1_epi8(-65))) << (16 * i);
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
      const Decoded d = decode(block.bytes + at);
      const Kind kind = kinds_.of(d.code_point);
      masks.of(kind) |= ((uint64_t{1} << d.bytes) - 1) << at;
      if (kind == kMark) masks.mark_start |= uint64_t{1} << at;
      if (at + d.bytes > 64) {
        spilled_ = at + d.bytes - 64;
        spilled_kind_ = kind;
      }
    }
    masks.start = starts;
    masks.other = block.valid & ~(masks.letter | masks.number | masks.space | masks.mark | masks.line_end);
    return masks;
  }

 private:
  const KindTable<kind_of>& kinds_ = KindTable<kind_of>::get();
  const uint8_t *p_, *end_;
  bool lines_;
  uint32_t spilled_ = 0;
  Kind spilled_kind_ = kOther;
};

// For each byte, what the mask says of the byte before it.
inline uint64_t before(uint64_t mask, uint64_t last_mask) { return mask << 1 | last_mask >> 63; }

// Where the kind differs from that of the byte before.
inline uint64_t kind_changes(const KindMasks& now, const KindMasks& last) {
  return (now.letter ^ before(now.letter, last.letter)) | (now.number ^ before(now.number, last.number)) |
         (now.other ^ before(now.other, last.other));
}

inline void bound_whitespace(const uint8_t* begin, const uint8_t* end, bool lines,
                             std::vector<uint64_t>& bounds) {
  uint64_t last_blank = ~uint64_t{0};
  for (size_t b = 0; b < bounds.size(); ++b) {
    const Block block(begin + 64 * b, end);
    uint64_t blank = 0, feeds = 0;
    for (int i = 0; i < 4; ++i) {
      const __m128i bytes = block.sixteen(i), feed = equal(bytes, '\n');
      blank |= bits_of(_mm_or_si128(_mm_or_si128(equal(bytes, ' '), equal(bytes, '\t')),
                                    _mm_or_si128(equal(bytes, '\r'), feed))) << (16 * i);
      if (lines) feeds |= bits_of(feed) << (16 * i);
    }
    bounds[b] = block.valid & ((blank ^ before(blank, last_blank)) | feeds);
    last_blank = blank;
  }
}

inline void bound_metaspace(const uint8_t* begin, const uint8_t* end, bool lines, std::vector<uint64_t>& bounds) {
  KindReader<metaspace_kind, false> reader(begin, end, lines);
  KindMasks last;
  last.line_end = uint64_t{1} << 63;  // a line starts here
  for (uint64_t& bound : bounds) {
    const KindMasks now = reader.next();
    const uint64_t text = now.letter | now.number | now.other;
    bound = now.space | now.line_end | now.mark_start |
            (text & ((kind_changes(now, last) & ~before(now.space, last.space)) | before(now.mark, last.mark)));
    last = now;
  }
}

// Metaspace words that end at spaces only, or at runs of them: no character has to be decoded.
inline void bound_spaces(bool runs, const uint8_t* begin, const uint8_t* end, bool lines,
                         std::vector<uint64_t>& bounds) {
  uint64_t last_blank = 0, last_feeds = uint64_t{1} << 63, last_mark = 0, spilled = 0;
  for (size_t b = 0; b < bounds.size(); ++b) {
    const uint8_t* p = begin + 64 * b;
    const Block block(p, end);
    uint64_t blank = 0, feeds = 0, maybe = 0, mark = spilled, mark_start = 0;
    for (int i = 0; i < 4; ++i) {
      const __m128i bytes = block.sixteen(i);
      blank |= bits_of(equal(bytes, ' ')) << (16 * i);
      if (lines) feeds |= bits_of(equal(bytes, '\n')) << (16 * i);
      maybe |= bits_of(equal(bytes, kSpaceMarkText[0])) << (16 * i);
    }
    spilled = 0;
    for (; maybe; maybe &= maybe - 1) {
      const int at = __builtin_ctzll(maybe);
      if (!starts_with_mark(p + at, end)) continue;
      mark_start |= uint64_t{1} << at;
      mark |= uint64_t{7} << at;
      if (at > 61) spilled = uint64_t{7} >> (64 - at);
    }
    const uint64_t spaces = runs ? blank & ~before(blank, last_blank) : blank;
    const uint64_t text = block.valid & ~(blank | feeds | mark);
    bounds[b] = spaces | feeds | mark_start | (text & (before(feeds, last_feeds) | before(mark, last_mark)));
    last_blank = blank;
    last_feeds = feeds;
    last_mark = mark;
  }
}

// White space beyond ASCII has several bytes. `lasts` are last bytes of such characters in the block of
// `text` that starts at `at`; words start at their first ones.
inline void bound_long_spaces(const uint8_t* text, size_t at, uint64_t lasts, std::vector<uint64_t>& bounds) {
  for (; lasts; lasts &= lasts - 1) {
    size_t first = at + __builtin_ctzll(lasts);
    while (is_continuation(text[first])) --first;
    bounds[first / 64] |= uint64_t{1} << first % 64;
  }
}

// `digits`: every number is a word, and takes no white space.
inline void bound_byte_level(const uint8_t* begin, const uint8_t* end, bool lines, bool digits,
                             std::vector<uint64_t>& bounds) {
  KindReader<byte_level_kind, true> reader(begin, end, lines);
  KindMasks last, now = reader.next();
  const uint64_t all_numbers = digits ? ~uint64_t{0} : 0;
  for (size_t b = 0; b < bounds.size(); ++b) {
    const KindMasks next = reader.next();
    const uint64_t text = now.letter | now.number | now.other;
    // What takes the white space before it.
    const uint64_t takes = text & ~(now.number & all_numbers);
    const uint64_t next_takes = (next.letter | next.number | next.other) & ~(next.number & all_numbers);
    const uint64_t after_space = before(now.space, last.space), after_blank = before(now.blank, last.blank);
    // The last white space before text is a word of its own; if it is a blank, it belongs to the text.
    const uint64_t lasts = now.space & (takes >> 1 | next_takes << 63);
    bounds[b] = now.line_end | (text & kind_changes(now, last) & ~after_space) |
                (text & after_space & ~after_blank) | (now.number & now.start & all_numbers) |
                (now.space & ~after_space) | (lasts & now.start);
    bound_long_spaces(begin, 64 * b, lasts & ~now.start, bounds);
    last = now;
    now = next;
  }
}

// The patterns of scan_pattern.
inline bool bound_pattern(Pretokenizer pretokenizer, const uint8_t* begin, const uint8_t* end, bool lines,
                          std::vector<uint64_t>& bounds) {
  KindReader<byte_level_kind, true> reader(begin, end, lines);
  const uint64_t most_numbers = pretokenizer == Pretokenizer::qwen2 ? 1 : 3;
  KindMasks last, now = reader.next();
  uint64_t last_sign = 0, last_tail = 0, last_breaks = 0, numbers = 0;
  const auto& kinds = KindTable<byte_level_kind>::get();
  for (size_t b = 0; b < bounds.size(); ++b) {
    uint64_t& bound = bounds[b];
    const uint8_t* p = begin + 64 * b;
    const KindMasks next = reader.next();
    const Block block(p, end);
    uint64_t breaks = 0;
    for (int i = 0; i < 4; ++i) {
      const __m128i bytes = block.sixteen(i);
      breaks |= bits_of(_mm_or_si128(equal(bytes, '\r'), equal(bytes, '\n'))) << (16 * i);
    }
    breaks &= ~now.line_end;
    if (lines && breaks) return false;  // a CR may or may not belong to the line end
    const uint64_t text = now.letter | now.number | now.other;
    const uint64_t next_text = next.letter | next.number | next.other;
    const uint64_t after_blank = before(now.blank, last.blank);
    const uint64_t after_other = before(now.other, last.other);
    // One sign belongs to the letters after it, if it is the first sign and no blank is before it.
    uint64_t sign = now.other & ~after_other & ~after_blank;
    for (int i = 0; i < 3; ++i) sign |= before(sign, last_sign) & now.other & ~now.start;
    // Line breaks belong to the signs before them.
    const uint64_t tails = breaks & (after_other | last_tail >> 63);
    const uint64_t tail = breaks & ~(breaks + tails);
    const uint64_t space = now.space & ~tail, last_space = last.space & ~last_tail;
    const uint64_t after_space = before(space, last_space);
    const uint64_t lasts = space & ~breaks & (text >> 1 | next_text << 63);
    bound = now.line_end | (now.other & ~after_other & ~after_blank) |
            (now.letter & ~before(now.letter, last.letter) & ~before(sign, last_sign) &
             ~before(now.space & ~breaks, last.space & ~last_breaks)) |
            (space & ~after_space) | (lasts & now.start);
    bound_long_spaces(begin, 64 * b, lasts & ~now.start, bounds);
    // White space after the last line break is another word, unless more line breaks follow; for
    // cl100k the end of the text counts as one.
    for (uint64_t left = space & ~breaks & after_space & before(breaks, last_breaks); left; left &= left - 1) {
      const int at = __builtin_ctzll(left);
      const uint8_t* q = p + at;
      for (uint32_t bytes; q < end && !is_line_break(*q) && kinds.at(q, bytes) == kSpace;) q += bytes;
      const bool ends = q == end ? pretokenizer == Pretokenizer::cl100k : is_line_break(*q);
      if (!ends) bound |= uint64_t{1} << at;
    }
    for (uint64_t left = now.number & now.start; left; left &= left - 1) {
      const int at = __builtin_ctzll(left);
      if (!(before(now.number, last.number) >> at & 1)) numbers = 0;
      if (numbers++ % most_numbers == 0) bound |= uint64_t{1} << at;
    }
    last = now;
    last_sign = sign;
    last_tail = tail;
    last_breaks = breaks;
    now = next;
  }
  return true;
}

// Set a bit in `bounds` for every byte of the text where a word starts (`whitespace`: or ends) or, if
// `lines`, a line ends; not for the end of the text. `ends`: of metaspace words.
// The apostrophes of byte-level patterns are left to the caller. Returns false if the text contains
// something that only the scanners can handle.
inline bool find_boundaries(Pretokenizer pretokenizer, const uint8_t* begin, const uint8_t* end, bool lines,
                            std::vector<uint64_t>& bounds, WordEnds ends = WordEnds::kinds) {
  bounds.resize((end - begin + 63) / 64);
  switch (pretokenizer) {
    case Pretokenizer::whitespace: bound_whitespace(begin, end, lines, bounds); return true;
    case Pretokenizer::metaspace:
      if (ends == WordEnds::kinds) bound_metaspace(begin, end, lines, bounds);
      else bound_spaces(ends == WordEnds::runs, begin, end, lines, bounds);
      return true;
    case Pretokenizer::byte_level: bound_byte_level(begin, end, lines, false, bounds); return true;
    case Pretokenizer::starcoder: bound_byte_level(begin, end, lines, true, bounds); return true;
    case Pretokenizer::o200k:
    case Pretokenizer::deepseek:
    case Pretokenizer::custom: return false;
    default: return bound_pattern(pretokenizer, begin, end, lines, bounds);
  }
}

#else

inline bool find_boundaries(Pretokenizer, const uint8_t*, const uint8_t*, bool, std::vector<uint64_t>&,
                            WordEnds = WordEnds::kinds) {
  return false;
}

#endif

}  // namespace volt
