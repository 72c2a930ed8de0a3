// What SentencePiece does to text first: its table of characters (`precompiled_charsmap`), by the longest
// rule, and its spaces. volt.reference.character_map has the slow twin.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace volt {

class CharacterMap {
 public:
  // The table as SentencePiece stores it: the bytes of the trie (32 bits), the trie, a double array as Darts
  // builds it, and the replacements, each ended by NUL. Empty: no rules. Any bytes are safe. Throws
  // std::invalid_argument if they are not these three parts.
  CharacterMap(const uint8_t* table, size_t bytes);

  // Append the text of valid UTF-8 to `out`, with its rules applied. False, and nothing is appended, if no
  // rule applies.
  bool map(const uint8_t* p, const uint8_t* end, std::string& out) const;

  // The whole normalization of a text in place of `out`: the table, runs of spaces as one and none at the
  // ends (if `trims`), U+2581 as a space. False if the text stays as it is; `out` is then undefined.
  bool clean(const uint8_t* p, const uint8_t* end, bool trims, std::string& out) const;

 private:
  struct Rule {
    size_t bytes = 0;  // 0: none applies
    uint32_t value = 0;
  };
  Rule find(const uint8_t* p, const uint8_t* end) const;
  template <class Take>
  void each_character(uint32_t place, Take&& take);
  const uint8_t* next_notable(const uint8_t* p, const uint8_t* end) const;
  uint32_t next(uint32_t place, uint8_t byte) const;
  uint32_t after(uint32_t unit) const;

  std::vector<uint32_t> units_;
  std::string texts_;
  // Notable are characters that are a rule by themselves, and those that come second in a rule: others are
  // passed over by one look here. By code point up to U+FFFF; all or none of the others.
  std::array<uint64_t, 1024> notable_{};
  bool beyond_ = false;
  size_t looked_ = 0;  // places of the trie, to find these characters
};

}  // namespace volt
