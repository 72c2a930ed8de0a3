#include "counting/word_file.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>

#include "base/stop.hpp"
#include "base/text_rows.hpp"
#include "base/unicode.hpp"
#include "counting/scan.hpp"

namespace volt {
namespace {

bool unescape(std::string_view field, std::string& word) {
  word.clear();
  for (size_t i = 0; i < field.size(); ++i) {
    if (field[i] != '\\') {
      word += field[i];
      continue;
    }
    if (++i == field.size()) return false;
    switch (field[i]) {
      case 't': word += '\t'; break;
      case 'n': word += '\n'; break;
      case 'r': word += '\r'; break;
      case '\\': word += '\\'; break;
      default: return false;
    }
  }
  return true;
}

// Is this one word to the pre-tokenizer, or a piece that it cut from one?
bool is_word(const Counter& counter, const std::string& word) {
  const Pretokenizer pretokenizer = counter.pretokenizer();
  const uint32_t max_word_length = counter.max_word_length();
  if (pretokenizer == Pretokenizer::custom) return true;  // only its pattern knows
  const uint8_t* begin = reinterpret_cast<const uint8_t*>(word.data());
  const uint8_t* end = begin + word.size();
  if (!counter.documents() && std::memchr(begin, '\n', word.size())) return false;
  if (pretokenizer == Pretokenizer::metaspace && word[0] == ' ') return false;  // it is spelled '▁'
  LineState state;
  state.at_start = false;
  if (pretokenizer == Pretokenizer::metaspace && starts_with_mark(begin, end)) {
    begin += kSpaceMarkBytes;
    state.at_start = true;
    if (begin == end) return true;
  }
  struct OneWord {
    const uint8_t *begin, *end;
    bool whole = false;
    void operator()(const uint8_t* b, const uint8_t* e, bool, bool) { whole = b == begin && e == end; }
    void cut() {}
    void reserved() {}
  };
  OneWord sink{begin, end};
  const uint32_t any_length = 0xFFFFFFFF;
  scan_words(pretokenizer, begin, end, state, true, any_length, sink);
  if (sink.whole || !is_byte_level(pretokenizer)) return sink.whole;
  // Contractions are the only words of several kinds of characters: 're, 've and 'll, cut after two.
  if (max_word_length == 2 && (word == "'r" || word == "'v" || word == "'l")) return true;
  // A part of a long word may look like several words: the first parts, and the last part of a run of
  // signs, where marks are signs like others, with the line breaks and slashes after it.
  if (pretokenizer == Pretokenizer::o200k) {
    if (count_characters(begin, end) == max_word_length) return true;
    const uint8_t* signs = KindTable<byte_level_kind>::get().run_end(begin, end, kOther);
    if (std::all_of(signs, end, [](uint8_t byte) { return byte == '\r' || byte == '\n' || byte == '/'; }))
      return true;
  }
  // Part of the white space up to a line break, or of line breaks after signs.
  return pretokenizer != Pretokenizer::byte_level && pretokenizer != Pretokenizer::starcoder &&
         KindTable<byte_level_kind>::get().run_end(begin, end, kSpace) == end;
}

}  // namespace

void append_word(std::string& out, const uint8_t* word, const uint8_t* end, uint64_t count) {
  append_escaped(out, word, end);
  out += '\t';
  append_number(out, count);
  out += '\n';
}

std::string write_words(const uint8_t* text, const uint64_t* offsets, const uint64_t* counts,
                        size_t words) {
  std::string out;
  out.reserve(offsets[words] + words * 8);
  for (size_t w = 0; w < words; ++w) {
    poll();
    append_word(out, text + offsets[w], text + offsets[w + 1], counts[w]);
  }
  return out;
}

ReadResult read_words(Counter& counter, const uint8_t* data, size_t bytes, bool last, uint64_t weight) {
  ReadResult result;
  std::string word;
  while (result.consumed < bytes) {
    poll();
    const uint8_t* begin = data + result.consumed;
    const size_t left = bytes - result.consumed;
    const void* found = std::memchr(begin, '\n', left);
    if (!found && !last) break;
    const size_t size = found ? static_cast<const uint8_t*>(found) - begin : left;
    std::string_view line(reinterpret_cast<const char*>(begin), size);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    auto stop = [&](const char* problem) {
      result.problem = problem;
      return result;
    };
    const size_t tab = line.rfind('\t');
    if (tab == std::string_view::npos) return stop("no tab between word and count");
    uint64_t count = 0;
    const char* end = line.data() + line.size();
    const auto [stopped, error] = std::from_chars(line.data() + tab + 1, end, count);
    if (error == std::errc::result_out_of_range || count >> 63) return stop("the count does not fit 63 bits");
    if (error != std::errc() || stopped != end || count == 0)
      return stop("the count is not a whole number above zero");
    if (__builtin_mul_overflow(count, weight, &count) || count >> 63)
      return stop("the weighted count does not fit 63 bits");
    if (find_invalid_utf8(begin, begin + tab)) return stop("the word is not valid UTF-8");
    if (!unescape(line.substr(0, tab), word)) return stop("a backslash that is not an escape");
    if (word.empty()) return stop("the word is empty");
    if (!is_word(counter, word))
      return stop("the pre-tokenizer would not give this as one word");
    const uint8_t* text = reinterpret_cast<const uint8_t*>(word.data());
    if (count_characters(text, text + word.size()) > counter.max_word_length())
      return stop("the word is longer than max_word_length");
    counter.add(word, count);
    ++result.lines;
    result.consumed += size + (found != nullptr);
  }
  counter.limit_types();
  return result;
}

}  // namespace volt
