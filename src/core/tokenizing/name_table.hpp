// The names of special tokens and symbols, as a tree of bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/pair_table.hpp"

namespace volt {

class NameTable {
 public:
  struct Match {
    const uint8_t *begin, *end;
    uint32_t token;  // kNoToken: none
  };
  // Which names are tokens in a text: those of symbols always, a special token's if `allowed` is not 0.
  struct Active {
    const uint8_t* allowed = nullptr;
    size_t longest = 0;  // bytes; 0: no name is active
    std::array<bool, 256> starts{};
  };

  void add(const uint8_t* name, size_t bytes, uint32_t token, bool always);
  Active active(const uint8_t* allowed) const;
  // The first name that starts in [p, limit), the longest one there; it ends at or before `end`.
  Match find(const uint8_t* p, const uint8_t* limit, const uint8_t* end, const Active& active) const;

 private:
  struct Name {
    uint32_t token;
    size_t bytes;
    uint8_t first;
    bool always;
  };
  std::vector<Name> names_;
  std::vector<uint32_t> name_at_{kNoToken};  // by node: place in names_
  PairTable next_;                           // (node, byte) -> node
};

}  // namespace volt
