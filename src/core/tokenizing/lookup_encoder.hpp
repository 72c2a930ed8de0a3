// A word -> ids, by looking tokens up in it (match.hpp). volt.reference.look_up has the slow twin.
#pragma once

#include <algorithm>
#include <vector>

#include "base/unicode.hpp"
#include "proposing/match.hpp"
#include "tokenizing/encode_tables.hpp"

namespace volt {

class LookupEncoder {
 public:
  explicit LookupEncoder(const EncodeTables& tables)
      : tables_(tables), matcher_(tables.pieces, tables.matching, tables.bytes_only()) {}

  // As MergeEncoder::encode. `score` is the sum of scores before the word, and is updated. A word that
  // `longest` can't cut completely is unknown as a whole, if there are no byte tokens.
  uint32_t* encode(bool prefix, const uint8_t* word, size_t bytes, uint32_t* out, double& score) {
    const Matching& matching = tables_.matching;
    if (bytes + prefix == 0) return out;
    make_key(prefix, word, bytes, tables_.marks_end);
    if (matching.encoding == Encoding::longest && matching.longest_word != 0 &&
        (tables_.bytes_only() ? bytes : count_characters(word, word + bytes) + prefix) >
            matching.longest_word) {
      *out = tables_.unknown;
      return out + 1;
    }
    if (matching.restart && key_[0] == ' ') score = 0;
    return emit(matcher_.cut(key_.data(), key_.size(), score), out);
  }

  // Encode the start of a word that goes on after `end`, as far as its ids are sure. Returns where the rest
  // begins.
  const uint8_t* encode_start(bool prefix, const uint8_t* word, const uint8_t* end, uint32_t*& out, double& score) {
    if (tables_.matching.encoding != Encoding::unigram || tables_.matching.marks_start) return word;
    make_key(prefix, word, end - word, false);
    double sum = tables_.matching.restart && key_[0] == ' ' ? 0 : score;
    const std::vector<Matcher::Piece>& sure = matcher_.cut_start(key_.data(), key_.size(), sum);
    if (sure.empty() || sure.back().end <= prefix) return word;  // not only the space before it
    score = sum;
    out = emit(sure, out);
    return word + sure.back().end - prefix;
  }

  // Unigram: encode a word wherever it stands, and how far from zero the sum of scores before it may be
  // for that. Negative if there is no such distance, or a character is unknown.
  uint32_t* encode_anywhere(const uint8_t* word, size_t bytes, uint32_t* out, float& limit) {
    make_key(false, word, bytes, tables_.marks_end);
    const Matcher::Steady steady = matcher_.cut_anywhere(key_.data(), key_.size());
    limit = static_cast<float>(std::min(steady.limit, 0x1p100) * 0.999999);  // rounded down
    for (const Matcher::Piece& piece : steady.pieces)
      if (piece.token == kNoToken) limit = -1;
    return emit(steady.pieces, out);
  }

  // The sum of scores after these tokens, each added as the matcher adds it.
  double after_tokens(double score, const uint32_t* ids, const uint32_t* end) const {
    const auto add = [&]<class Real>(Real sum) -> double {
      for (; ids < end; ++ids) sum += static_cast<Real>(tables_.scores[*ids]);
      return sum;
    };
    return tables_.matching.single ? add(static_cast<float>(score)) : add(score);
  }

  // The sum of scores after a symbol of so many bytes, as in SentencePiece.
  double after_symbol(double score, size_t bytes) const {
    const Matching& matching = tables_.matching;
    const auto add = [&]<class Real>(Real sum) -> double {
      return static_cast<Real>(bytes) * static_cast<Real>(matching.symbol_score) - static_cast<Real>(0.1) + sum;
    };
    if (matching.restart) return 0;
    return matching.single ? add(static_cast<float>(score)) : add(score);
  }

 private:
  void make_key(bool prefix, const uint8_t* word, size_t bytes, bool ends) {
    key_.clear();
    if (tables_.matching.marks_start) key_.push_back(kStartMark);
    if (prefix) key_.push_back(' ');
    key_.insert(key_.end(), word, word + bytes);
    if (ends) key_.push_back(kFinalMark);
  }

  uint32_t* emit(const std::vector<Matcher::Piece>& pieces, uint32_t* out) const {
    const bool spells = !tables_.byte_tokens.empty();
    uint32_t* const begin = out;
    for (const Matcher::Piece& piece : pieces) {
      if (piece.token != kNoToken) [[likely]] {
        *out++ = piece.token;
      } else if (spells) {
        for (size_t i = piece.begin; i < piece.end; ++i)
          if (key_[i] < kStartMark) *out++ = tables_.byte_tokens[key_[i]];
      } else if (tables_.matching.encoding == Encoding::longest) {
        *begin = tables_.unknown;
        return begin + 1;
      } else {
        *out++ = tables_.unknown;
      }
    }
    return out;
  }

  const EncodeTables& tables_;
  Matcher matcher_;
  std::vector<uint8_t> key_;
};

}  // namespace volt
