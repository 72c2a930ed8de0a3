// The names of special tokens and symbols: which one is where in a text, the longest where several start.
//
// Short names are walked along in a tree of their bytes from every place where one may start. With long names
// that takes a step per byte of a name at every place of a text that almost matches ("aaaa..."). They are
// found by the automaton of Aho and Corasick (1975) instead, made of the names backwards: it reads the text
// from its end, a window at a time, and at every place its state tells the longest name that starts there. So
// the time does not depend on the names, and is linear in the text.
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
  // For each place of a window the name that starts there, as a place in names_.
  using Window = std::vector<uint32_t>;

  void add(const uint8_t* name, size_t bytes, uint32_t token, bool always);
  // To be called after the last name.
  void finish();
  Active active(const uint8_t* allowed) const;

  // Finds the names of a text from left to right.
  class Finder {
   public:
    Finder(const NameTable& names, const Active& active, Window& window)
        : names_(names), active_(active), window_(window) {}
    // The first name that starts in [p, limit), the longest one there; it ends at or before `end`. From
    // call to call p does not go back.
    Match find(const uint8_t* p, const uint8_t* limit, const uint8_t* end);

   private:
    uint32_t walk(const uint8_t* p, const uint8_t* end) const;
    void look(const uint8_t* p, const uint8_t* limit, const uint8_t* end);
    bool is_active(uint32_t name) const {
      const Name& one = names_.names_[name];
      return one.always || (active_.allowed && active_.allowed[one.token]);
    }

    const NameTable& names_;
    const Active& active_;
    Window& window_;
    const uint8_t *begin_ = nullptr, *end_ = nullptr;  // of the window
  };

 private:
  static constexpr size_t kShort = 32;  // bytes of names that are walked along
  struct Name {
    uint32_t token;
    size_t bytes;
    uint8_t first;
    bool always;
  };
  // A tree of names. Node 0 is the root.
  struct Tree {
    struct Node {
      uint32_t name = kNoToken;  // place in names_
      uint32_t parent = 0, depth = 0;
      uint8_t byte = 0;
      uint32_t shorter = 0;  // the longest other node whose bytes are the last ones of this
      uint32_t named = 0;    // the first one with a name on the way from there to ever shorter ones
    };
    std::vector<Node> nodes{1};
    PairTable next;  // (node, byte) -> node

    uint32_t enter(uint32_t node, uint8_t byte);
    uint32_t step(uint32_t node, uint8_t byte) const;
    void link();
  };

  std::vector<Name> names_;
  Tree forward_;
  Tree backward_;  // empty if no name is long
};

}  // namespace volt
