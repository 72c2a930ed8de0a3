#include "tokenizing/name_table.hpp"

#include <algorithm>
#include <stdexcept>

namespace volt {

void NameTable::add(const uint8_t* name, size_t bytes, uint32_t token, bool always) {
  uint32_t node = 0;
  for (size_t i = 0; i < bytes; ++i) {
    uint32_t to = next_.find(node, name[i]);
    if (to == kNoToken) {
      to = static_cast<uint32_t>(name_at_.size());
      if (to == kNoToken) throw std::length_error("too many special tokens and symbols");
      name_at_.push_back(kNoToken);
      next_.set(node, name[i], to);
    }
    node = to;
  }
  if (name_at_[node] != kNoToken) throw std::invalid_argument("two tokens have the same name");
  name_at_[node] = static_cast<uint32_t>(names_.size());
  names_.push_back({token, bytes, *name, always});
}

NameTable::Active NameTable::active(const uint8_t* allowed) const {
  Active active;
  active.allowed = allowed;
  for (const Name& name : names_)
    if (name.always || (allowed && allowed[name.token])) {
      active.longest = std::max(active.longest, name.bytes);
      active.starts[name.first] = true;
    }
  return active;
}

NameTable::Match NameTable::find(const uint8_t* p, const uint8_t* limit, const uint8_t* end,
                                 const Active& active) const {
  for (; p < limit; ++p) {
    if (!active.starts[*p]) continue;
    Match longest{p, p, kNoToken};
    uint32_t node = 0;
    for (const uint8_t* q = p; q < end; ++q) {
      node = next_.find(node, *q);
      if (node == kNoToken) break;
      if (name_at_[node] == kNoToken) continue;
      const Name& name = names_[name_at_[node]];
      if (name.always || (active.allowed && active.allowed[name.token])) longest = {p, q + 1, name.token};
    }
    if (longest.token != kNoToken) return longest;
  }
  return {limit, limit, kNoToken};
}

}  // namespace volt
