// Scanners of the pre-tokenizers that cut at spaces: whitespace and metaspace.
#pragma once

#include "counting/lines.hpp"

namespace volt {

// Runs of anything but space, tab, CR, LF.
template <class Sink>
const uint8_t* scan_whitespace(const uint8_t* p, const uint8_t* end, LineState& state, bool complete,
                               uint32_t max_length, Sink& sink) {
  auto delimiter = [](uint8_t c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; };
  while (p < end) {
    if (delimiter(*p)) {
      state.continuing = 0;
      ++p;
      continue;
    }
    const uint8_t* begin = p;
    while (p < end && !delimiter(*p)) ++p;
    if (p == end && !complete)
      return cut_unfinished(begin, end, kOther, false, state, max_length, sink);
    sink(begin, p, false, state.continuing != 0);
    state.continuing = 0;
  }
  return p;
}

// Metaspace: a space starts a word, or a run of them if `runs`. Where else words end depends on the kinds.
template <Kind (*kind_of)(uint32_t), bool runs = false, class Sink>
const uint8_t* scan_spaced(const uint8_t* p, const uint8_t* end, LineState& state, bool complete,
                           uint32_t max_length, Sink& sink) {
  const auto& kinds = KindTable<kind_of>::get();
  while (p < end) {
    const uint8_t* begin = p;
    const bool prefix = state.at_start;
    const uint8_t* q = p;
    if (runs)
      while (!state.continuing && q < end && *q == ' ') ++q;
    else if (!prefix && !state.continuing && *q == ' ')
      ++q;
    Kind kind = kOther;
    if (q < end) {
      uint32_t bytes;
      kind = kinds.at(q, bytes);
      if (kind == kMark && q == begin && !prefix) {  // U+2581 by itself: not a word
        sink.reserved();
        p = q + bytes;
        continue;
      }
      if (kind != kMark && kind != kSpace) q = kinds.run_end(q + bytes, end, kind);
    }
    if (!complete && end - q < kLookahead)
      return cut_unfinished(begin, q, kind, prefix, state, max_length, sink);
    sink(begin, q, prefix, state.continuing != 0);
    state.at_start = false;
    state.continuing = 0;
    p = q;
  }
  return p;
}

}  // namespace volt
