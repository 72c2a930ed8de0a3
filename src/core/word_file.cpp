#include "word_file.hpp"

#include <charconv>
#include <cstring>
#include <string_view>

#include "scan.hpp"
#include "unicode.hpp"

namespace volt {
namespace {

char escape_of(uint8_t byte) {
  switch (byte) {
    case '\t': return 't';
    case '\n': return 'n';
    case '\r': return 'r';
    case '\\': return '\\';
    default: return 0;
  }
}

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
bool is_word(Pretokenizer pretokenizer, uint32_t max_word_length, const std::string& word) {
  const uint8_t* begin = reinterpret_cast<const uint8_t*>(word.data());
  const uint8_t* end = begin + word.size();
  if (std::memchr(begin, '\n', word.size())) return false;
  if (pretokenizer == Pretokenizer::metaspace && word[0] == ' ') return false;  // it is spelled '▁'
  LineState state;
  state.at_start = false;
  if (pretokenizer == Pretokenizer::metaspace && word.compare(0, 3, "\xE2\x96\x81") == 0) {
    begin += 3;
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
  if (pretokenizer == Pretokenizer::whitespace) {
    scan_whitespace(begin, end, state, true, any_length, sink);
  } else if (pretokenizer == Pretokenizer::metaspace) {
    scan_metaspace(begin, end, state, true, any_length, sink);
  } else {
    scan_bytes(pretokenizer, begin, end, state, true, any_length, sink);
    // Contractions are the only words of several kinds of characters: 're, 've, 'll cut after two.
    if (max_word_length == 2 && (word == "'r" || word == "'v" || word == "'l")) return true;
    // A part of a long word may look like several: the first ones, and the last of a run of signs, where marks
    // are signs like others, with the line breaks and slashes behind it.
    if (pretokenizer == Pretokenizer::o200k) {
      if (count_characters(begin, end) == max_word_length) return true;
      const uint8_t* signs = KindTable<byte_level_kind>::get().run_end(begin, end, kOther);
      if (std::all_of(signs, end, [](uint8_t byte) { return byte == '\r' || byte == '/'; })) return true;
    }
    // White space up to a line break, of which this is a part.
    if (pretokenizer != Pretokenizer::byte_level &&
        KindTable<byte_level_kind>::get().run_end(begin, end, kSpace) == end)
      return true;
  }
  return sink.whole;
}

}  // namespace

namespace {

void append_escaped(std::string& out, const uint8_t* word, const uint8_t* end) {
  for (; word < end; ++word) {
    if (const char escape = escape_of(*word)) {
      out += '\\';
      out += escape;
    } else {
      out += static_cast<char>(*word);
    }
  }
}

// Inside the quotes of a JSON string; text beyond ASCII stands as it is.
void append_json(std::string& out, const uint8_t* text, const uint8_t* end) {
  static constexpr char hex[] = "0123456789abcdef", short_names[] = "btn?fr";
  for (; text < end; ++text) {
    if (*text == '"' || *text == '\\') {
      out += '\\';
    } else if (*text < 0x20) {
      if (*text >= '\b' && *text <= '\r' && *text != '\v') {
        out += '\\';
        out += short_names[*text - '\b'];
      } else {
        out += "\\u00";
        out += hex[*text >> 4];
        out += hex[*text & 15];
      }
      continue;
    }
    out += static_cast<char>(*text);
  }
}

template <class Number>
void append_number(std::string& out, Number number) {
  char digits[20];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
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
  for (size_t w = 0; w < words; ++w)
    append_word(out, text + offsets[w], text + offsets[w + 1], counts[w]);
  return out;
}

std::string write_rows(const uint8_t* text, const uint64_t* offsets, const int64_t* numbers, size_t rows,
                       size_t columns) {
  std::string out;
  out.reserve(offsets[rows] + rows * (columns + 1) * 8);
  for (size_t row = 0; row < rows; ++row) {
    append_number(out, row);
    out += '\t';
    append_escaped(out, text + offsets[row], text + offsets[row + 1]);
    for (size_t column = 0; column < columns; ++column) {
      out += '\t';
      append_number(out, numbers[row * columns + column]);
    }
    out += '\n';
  }
  return out;
}

std::string write_tokens(const TokenColumns& tokens, uint64_t first_id) {
  std::string out;
  out.reserve(tokens.offsets[tokens.size] + tokens.size * 96);
  for (size_t row = 0; row < tokens.size; ++row) {
    out += row ? ",\n{\"id\": " : "{\"id\": ";
    append_number(out, first_id + row);
    out += ", \"text\": \"";
    append_json(out, tokens.text + tokens.offsets[row], tokens.text + tokens.offsets[row + 1]);
    out += "\", \"kind\": \"";
    out += tokens.names[tokens.kinds[row]];
    out += '"';
    if (tokens.parents[2 * row] >= 0) {
      out += ", \"parents\": [";
      append_number(out, tokens.parents[2 * row]);
      out += ", ";
      append_number(out, tokens.parents[2 * row + 1]);
      out += "], \"rank\": ";
      append_number(out, tokens.ranks[row]);
    }
    if (!tokens.scores.empty() && !tokens.scores[row].empty()) {
      out += ", \"score\": ";
      out += tokens.scores[row];
    }
    if (tokens.scaffolds[row]) out += ", \"scaffold\": true";
    out += ", \"frequency\": ";
    append_number(out, tokens.frequencies[row]);
    out += '}';
  }
  return out;
}

ReadResult read_words(Counter& counter, const uint8_t* data, size_t bytes, bool last, uint64_t weight) {
  ReadResult result;
  std::string word;
  while (result.consumed < bytes) {
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
    if (!unescape(line.substr(0, tab), word)) return stop("a backslash that is no escape");
    if (word.empty()) return stop("the word is empty");
    if (!is_word(counter.pretokenizer(), counter.max_word_length(), word))
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
