#include "tokenizing/tokenizer_json.hpp"

#include <algorithm>
#include <string_view>

#include "base/hash.hpp"
#include "base/unicode.hpp"

namespace volt {
namespace {

// Thrown where a file is not laid out as usual.
struct Unusual {};

void require(bool fine) {
  if (!fine) throw Unusual{};
}

// Walks through JSON.
class Walker {
 public:
  Walker(const uint8_t* p, const uint8_t* end) : p_(p), end_(end) {}

  const uint8_t* place() const { return p_; }

  // The next character that is not white space; it stays.
  uint8_t peek() {
    while (p_ < end_ && (*p_ == ' ' || *p_ == '\n' || *p_ == '\r' || *p_ == '\t')) ++p_;
    require(p_ < end_);
    return *p_;
  }

  void take(uint8_t expected) {
    require(peek() == expected);
    ++p_;
  }

  // Goes to the next item of a table or list, after its opening bracket; false, and past the closing
  // bracket, if there is none.
  bool next(uint8_t closing, bool first) {
    if (peek() == closing) {
      ++p_;
      return false;
    }
    if (!first) take(',');
    return true;
  }

  // Appends a string to `out`.
  void string(std::string& out) {
    take('"');
    for (;;) {
      const uint8_t* run = p_;
      while (p_ < end_ && *p_ != '"' && *p_ != '\\' && *p_ >= 0x20) ++p_;
      out.append(run, p_);
      require(p_ < end_ && *p_ >= 0x20);
      if (*p_++ == '"') return;
      escape(out);
    }
  }

  int64_t id() {
    peek();
    int64_t value = 0;
    const uint8_t* start = p_;
    while (p_ < end_ && *p_ >= '0' && *p_ <= '9' && p_ - start < 10) value = value * 10 + (*p_++ - '0');
    require(p_ > start && p_ - start < 10 && (*start != '0' || p_ - start == 1));
    const uint8_t after = peek();
    require(after == ',' || after == '}');
    return value;
  }

  // Passes over any value.
  void skip() {
    size_t depth = 0;
    do {
      const uint8_t byte = peek();
      ++p_;
      if (byte == '"') {
        while (p_ < end_ && *p_ != '"') p_ += *p_ == '\\' && end_ - p_ > 1 ? 2 : 1;
        require(p_ < end_);
        ++p_;
      } else if (byte == '{' || byte == '[') {
        ++depth;
      } else if (byte == '}' || byte == ']') {
        require(depth > 0);
        --depth;
      } else if (depth == 0) {  // a number or a name
        while (p_ < end_ && *p_ != ',' && *p_ != '}' && *p_ != ']' && *p_ > ' ') ++p_;
      }
    } while (depth > 0);
  }

 private:
  uint32_t four_digits() {
    require(end_ - p_ >= 4);
    uint32_t value = 0;
    for (int i = 0; i < 4; ++i) {
      const uint8_t digit = *p_++, small = digit | 0x20;
      require((digit >= '0' && digit <= '9') || (small >= 'a' && small <= 'f'));
      value = value << 4 | (digit <= '9' ? digit - '0' : small - 'a' + 10);
    }
    return value;
  }

  void escape(std::string& out) {
    static constexpr std::string_view names = "\"\\/bfnrt", meant = "\"\\/\b\f\n\r\t";
    require(p_ < end_);
    const uint8_t name = *p_++;
    if (name != 'u') {
      const size_t found = names.find(static_cast<char>(name));
      require(found != names.npos);
      out += meant[found];
      return;
    }
    uint32_t code_point = four_digits();
    if (code_point >= 0xD800 && code_point < 0xDC00) {
      require(end_ - p_ >= 6 && p_[0] == '\\' && p_[1] == 'u');
      p_ += 2;
      const uint32_t low = four_digits();
      require(low >= 0xDC00 && low < 0xE000);
      code_point = 0x10000 + ((code_point - 0xD800) << 10) + (low - 0xDC00);
    }
    require(code_point < 0xD800 || code_point >= 0xE000);
    append_utf8(out, code_point);
  }

  static void append_utf8(std::string& out, uint32_t c) {
    const auto put = [&out](uint32_t byte) { out += static_cast<char>(byte); };
    if (c < 0x80) {
      put(c);
    } else if (c < 0x800) {
      put(0xC0 | c >> 6), put(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
      put(0xE0 | c >> 12), put(0x80 | (c >> 6 & 0x3F)), put(0x80 | (c & 0x3F));
    } else {
      put(0xF0 | c >> 18), put(0x80 | (c >> 12 & 0x3F)), put(0x80 | (c >> 6 & 0x3F)), put(0x80 | (c & 0x3F));
    }
  }

  const uint8_t *p_, *end_;
};

// The tokens, and where each is in the vocabulary.
class Tokens {
 public:
  explicit Tokens(TokenizerJson& into) : into_(into) { into_.offsets.push_back(0); }

  void add(std::string_view token, int64_t id) {
    if (2 * into_.ids.size() >= places_.size()) grow();
    uint64_t& place = places_[find_slot(token)];
    require(place == 0);
    into_.text.insert(into_.text.end(), token.begin(), token.end());
    into_.offsets.push_back(into_.text.size());
    into_.ids.push_back(id);
    place = tagged(hash_of(token), into_.ids.size());
  }

  // The place of a token, or -1.
  int64_t find(std::string_view token) const {
    if (places_.empty()) return -1;
    return static_cast<int64_t>(places_[find_slot(token)] & kPlace) - 1;
  }

 private:
  // A slot of the table is a place plus one, and bits of the hash, which tell most tokens apart.
  static constexpr uint64_t kPlace = 0xFFFFFFFF;

  static uint64_t hash_of(std::string_view token) {
    return seeded_hash(reinterpret_cast<const uint8_t*>(token.data()), token.size(), 0, 0);
  }

  static uint64_t tagged(uint64_t hash, uint64_t place) { return (hash & ~kPlace) | place; }

  std::string_view text(uint64_t place) const {
    const uint64_t start = into_.offsets[place - 1];
    return {reinterpret_cast<const char*>(into_.text.data()) + start, into_.offsets[place] - start};
  }

  size_t find_slot(std::string_view token) const {
    const uint64_t hash = hash_of(token), mask = places_.size() - 1;
    size_t slot = hash & mask;
    while (places_[slot] != 0) {
      const uint64_t place = places_[slot] & kPlace;
      if (places_[slot] == tagged(hash, place) && text(place) == token) break;
      slot = (slot + 1) & mask;
    }
    return slot;
  }

  void grow() {
    places_.assign(std::max<size_t>(1024, 2 * places_.size()), 0);
    for (uint64_t place = 1; place <= into_.ids.size(); ++place) {
      const std::string_view token = text(place);
      places_[find_slot(token)] = tagged(hash_of(token), place);
    }
  }

  TokenizerJson& into_;
  std::vector<uint64_t> places_;
};

class Splitter {
 public:
  Splitter(const uint8_t* p, const uint8_t* end) : walker_(p, end), copied_(p), tokens_(found_) {}

  TokenizerJson split(const uint8_t* end) {
    bool model = false;
    walker_.take('{');
    members([&](const std::string& key) {
      if (key != "model") return walker_.skip();
      require(!model);
      model = true;
      read_model();
    });
    require(vocab_ && merges_);
    found_.rest.append(copied_, end);
    return std::move(found_);
  }

 private:
  template <class Read>
  void members(Read read) {
    std::string key;
    for (bool first = true; walker_.next('}', first); first = false) {
      key.clear();
      walker_.string(key);
      walker_.take(':');
      read(key);
    }
  }

  void read_model() {
    walker_.take('{');
    members([this](const std::string& key) {
      if (key == "vocab") {
        require(!vocab_);
        vocab_ = true;
        replace("{}", [this] { read_vocab(); });
      } else if (key == "merges") {
        require(vocab_ && !merges_);
        merges_ = true;
        replace("[]", [this] { read_merges(); });
      } else {
        walker_.skip();
      }
    });
  }

  // Reads a value; `rest` gets something else in its place.
  template <class Read>
  void replace(std::string_view by, Read read) {
    walker_.peek();
    found_.rest.append(copied_, walker_.place());
    found_.rest += by;
    read();
    copied_ = walker_.place();
  }

  void read_vocab() {
    walker_.take('{');
    members([this](const std::string& token) { tokens_.add(token, walker_.id()); });
  }

  void read_merges() {
    std::string both;
    walker_.take('[');
    for (bool first = true; walker_.next(']', first); first = false) {
      both.clear();
      size_t cut = 0;
      if (walker_.peek() == '[') {
        walker_.take('[');
        walker_.string(both);
        cut = both.size();
        walker_.take(',');
        walker_.string(both);
        walker_.take(']');
      } else {
        walker_.string(both);
        cut = both.find(' ');
        require(cut != both.npos && both.find(' ', cut + 1) == both.npos);
        both.erase(cut, 1);
      }
      const std::string_view joined = both;
      const int64_t left = tokens_.find(joined.substr(0, cut)), right = tokens_.find(joined.substr(cut));
      require(cut > 0 && cut < both.size() && left >= 0 && right >= 0);
      found_.joins.insert(found_.joins.end(), {left, right, tokens_.find(joined)});
    }
  }

  Walker walker_;
  const uint8_t* copied_;  // what is in `rest` already ends here
  TokenizerJson found_;
  Tokens tokens_;
  bool vocab_ = false, merges_ = false;
};

}  // namespace

std::optional<TokenizerJson> split_tokenizer_json(const uint8_t* data, size_t bytes) {
  if (find_invalid_utf8(data, data + bytes) != nullptr) return std::nullopt;
  try {
    return Splitter(data, data + bytes).split(data + bytes);
  } catch (const Unusual&) {
    return std::nullopt;
  }
}

}  // namespace volt
