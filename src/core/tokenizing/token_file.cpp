#include "tokenizing/token_file.hpp"

#include "base/stop.hpp"
#include "base/text_rows.hpp"

namespace volt {
namespace {

// The inside of a JSON string. Text beyond ASCII is not escaped.
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

}  // namespace

std::string write_tokens(const TokenColumns& tokens, uint64_t first_id) {
  std::string out;
  out.reserve(tokens.offsets[tokens.size] + tokens.size * 96);
  for (size_t row = 0; row < tokens.size; ++row) {
    poll();
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

}  // namespace volt
