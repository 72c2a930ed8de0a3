// The pre-tokenizers: lines or documents -> words. Each scanner hands its words to a sink,
//
//     sink(begin, end, prefix, continued)
//
// where `prefix` says that the word starts with a space that is not in the text (metaspace, first word
// of a line) and `continued` that the word is the rest of one that was cut. If the text is not
// complete, a scanner stops at the first word that might go on, and returns where that is.
#pragma once

#include "counting/scan_deepseek.hpp"
#include "counting/scan_patterns.hpp"
#include "counting/scan_spaces.hpp"

namespace volt {

// Scan with the pre-tokenizer's rule. `ends`: of metaspace words.
template <class Sink>
const uint8_t* scan_words(Pretokenizer pretokenizer, const uint8_t* p, const uint8_t* end, LineState& state,
                          bool complete, uint32_t max_length, Sink& sink,
                          WordEnds ends = WordEnds::kinds) {
  switch (pretokenizer) {
    case Pretokenizer::whitespace: return scan_whitespace(p, end, state, complete, max_length, sink);
    case Pretokenizer::metaspace:
      switch (ends) {
        case WordEnds::kinds: return scan_spaced<metaspace_kind>(p, end, state, complete, max_length, sink);
        case WordEnds::spaces: return scan_spaced<space_kind>(p, end, state, complete, max_length, sink);
        case WordEnds::runs: return scan_spaced<space_kind, true>(p, end, state, complete, max_length, sink);
      }
      return end;
    case Pretokenizer::byte_level: return scan_byte_level<false>(p, end, state, complete, max_length, sink);
    case Pretokenizer::starcoder: return scan_byte_level<true>(p, end, state, complete, max_length, sink);
    case Pretokenizer::deepseek: return scan_deepseek(p, end, state, complete, max_length, sink);
    case Pretokenizer::custom:
      if (p < end) sink(p, end, false, false);
      return end;
    case Pretokenizer::o200k: return scan_cased(p, end, state, complete, max_length, sink);
    default: return scan_pattern(pretokenizer, p, end, state, complete, max_length, sink);
  }
}

}  // namespace volt
