#include "proposing/speller.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "base/parallel.hpp"
#include "base/unicode.hpp"
#include "proposing/pair_queue.hpp"

namespace volt {
namespace {

constexpr size_t kManyCharacters = 5000;  // from here on the default coverage is below 1
constexpr double kDefaultCoverage = 0.9995;

std::string utf8_of(uint32_t c) {
  std::string out;
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0 | c >> 6);
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xE0 | c >> 12);
    out += static_cast<char>(0x80 | (c >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | c >> 18);
    out += static_cast<char>(0x80 | (c >> 12 & 0x3F));
    out += static_cast<char>(0x80 | (c >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  }
  return out;
}

// Shares with about the same amount of text.
std::vector<size_t> equal_shares(const WordView& words, unsigned threads) {
  std::vector<size_t> bounds{0};
  const uint64_t total = words.offsets[words.words];
  for (unsigned i = 1; i < threads; ++i)
    bounds.push_back(std::max<size_t>(
        bounds.back(), std::lower_bound(words.offsets, words.offsets + words.words, total * i / threads) -
                           words.offsets));
  bounds.push_back(words.words);
  return bounds;
}

}  // namespace

Speller::Speller(const WordView& words, const MergeOptions& options)
    : words_(words),
      options_(options),
      byte_level_(is_byte_level(options.pretokenizer)),
      kinds_(options.pretokenizer == Pretokenizer::whitespace ? 2 : 1),
      shares_(equal_shares(words, options.threads)),
      unknown_(kNone) {}

// Calls visit(code point or byte, is last of the word) for every character of word w.
template <class Visit>
void Speller::for_each_character(size_t w, Visit&& visit) const {
  const uint8_t* p = words_.text + words_.offsets[w];
  const uint8_t* end = words_.text + words_.offsets[w + 1];
  while (p < end) {
    uint32_t character = *p, bytes = 1;
    if (!byte_level_) {
      const Decoded d = decode(p);
      character = d.code_point;
      bytes = d.bytes;
    }
    p += bytes;
    visit(character, p == end);
  }
}

// One more than the largest code point that the words can contain, judged by their largest byte. A
// table for all of Unicode would take longer to clear than a small corpus takes to merge.
size_t Speller::code_points() const {
  const uint8_t* end = words_.text + words_.offsets[words_.words];
  const uint8_t largest = words_.text == end ? 0 : *std::max_element(words_.text, end);
  return largest < 0x80 ? 0x80 : largest < 0xE0 ? 0x800 : largest < 0xF0 ? 0x10000 : 0x110000;
}

std::vector<uint64_t> Speller::count_symbols() const {
  const size_t range = byte_level_ ? 256 : code_points();
  std::vector<std::vector<uint64_t>> partial(options_.threads);
  run_parallel(options_.threads, [&](unsigned i) {
    partial[i].assign(range * kinds_, 0);
    for (size_t w = shares_[i]; w < shares_[i + 1]; ++w) {
      poll();
      for_each_character(w, [&](uint32_t c, bool last) {
        partial[i][c * kinds_ + (last && kinds_ == 2)] += words_.counts[w];
      });
    }
  });
  for (unsigned i = 1; i < options_.threads; ++i)
    for (size_t s = 0; s < partial[0].size(); ++s) partial[0][s] += partial[i][s];
  return std::move(partial[0]);
}

void Speller::make_alphabet(MergeResult& result) {
  const std::vector<uint64_t> counts = count_symbols();
  const std::vector<bool> covered = cover(counts, result);
  symbol_of_.assign(counts.size(), kNone);
  uint64_t unknown_count = 0;
  for (size_t s = 0; s < counts.size(); ++s) {
    if (counts[s] == 0 && !byte_level_) continue;
    const uint32_t c = static_cast<uint32_t>(s / kinds_);
    if (!covered[c]) {
      unknown_count += counts[s];
      continue;
    }
    symbol_of_[s] =
        result.add_token(byte_level_ ? std::string(1, static_cast<char>(c)) : utf8_of(c), s % kinds_ != 0, 1);
    result.alphabet_counts.push_back(counts[s]);
  }
  if (unknown_count != 0) {
    result.unknown = unknown_ = result.add_token("", false, 1);
    result.alphabet_counts.push_back(unknown_count);
  }
}

// Which characters are in the alphabet: the most frequent (ties: lower code point first) that together
// make up the required share.
std::vector<bool> Speller::cover(const std::vector<uint64_t>& counts, MergeResult& result) const {
  const size_t range = counts.size() / kinds_;
  std::vector<bool> covered(range, true);
  if (byte_level_) return covered;
  std::vector<std::pair<uint64_t, uint32_t>> seen;
  double total = 0;
  for (uint32_t c = 0; c < range; ++c) {
    uint64_t count = counts[c * kinds_];
    if (kinds_ == 2) count += counts[c * kinds_ + 1];
    if (count != 0) seen.push_back({count, c});
    total += static_cast<double>(count);
  }
  double coverage = options_.coverage;
  if (coverage <= 0) coverage = seen.size() < kManyCharacters ? 1.0 : kDefaultCoverage;
  if (coverage >= 1) return covered;
  std::sort(seen.begin(), seen.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  double have = 0;
  for (const auto& [count, c] : seen) {
    if (have >= coverage * total) {
      covered[c] = false;
      ++result.left_out;
    }
    have += static_cast<double>(count);
  }
  return covered;
}

uint64_t Speller::length_of(size_t w) const {
  const uint8_t *begin = words_.text + words_.offsets[w], *end = words_.text + words_.offsets[w + 1];
  return byte_level_ ? end - begin : count_characters(begin, end);
}

void Speller::spell_words(WordRows& rows) const {
  std::vector<uint64_t> starts(options_.threads + 1, 0);
  run_parallel(options_.threads, [&](unsigned i) {
    for (size_t w = shares_[i]; w < shares_[i + 1]; ++w) starts[i + 1] += WordRow::units(length_of(w));
  });
  for (unsigned i = 0; i < options_.threads; ++i) starts[i + 1] += starts[i];
  if (starts.back() >= kNone || words_.words >= kNone)
    throw std::length_error("too many word types for one run: raise min_count when counting");
  rows.allocate(std::move(starts));
  run_parallel(options_.threads, [&](unsigned i) {
    uint64_t row = rows.start(i);
    for (size_t w = shares_[i]; w < shares_[i + 1]; ++w) {
      poll();
      WordRow& word = rows.at(row);
      word = {words_.counts[w], 0, 0};
      for_each_character(w, [&](uint32_t c, bool last) {
        const uint32_t symbol = symbol_of_[c * kinds_ + (last && kinds_ == 2)];
        word.tokens()[word.length++] = symbol == kNone ? unknown_ : symbol;
      });
      word.room = word.length;
      row += WordRow::units(word.room);
    }
  });
}

}  // namespace volt
