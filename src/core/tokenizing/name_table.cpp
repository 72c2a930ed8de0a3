#include "tokenizing/name_table.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "base/stop.hpp"

namespace volt {

constexpr size_t kWindow = 4096;  // bytes, at least

// ------------------------------------------------------------------------------------------- the trees

uint32_t NameTable::Tree::enter(uint32_t node, uint8_t byte) {
  uint32_t to = next.find(node, byte);
  if (to != kNoToken) return to;
  to = static_cast<uint32_t>(nodes.size());
  if (to == kNoToken) throw std::length_error("too many special tokens and symbols");
  nodes.push_back({kNoToken, node, nodes[node].depth + 1, byte});
  next.set(node, byte, to);
  return to;
}

// The longest node whose bytes are the last ones read.
uint32_t NameTable::Tree::step(uint32_t node, uint8_t byte) const {
  for (;; node = nodes[node].shorter) {
    const uint32_t to = next.find(node, byte);
    if (to != kNoToken) return to;
    if (node == 0) return 0;
  }
}

// Shorter nodes first: a node is linked to shorter ones only.
void NameTable::Tree::link() {
  std::vector<uint32_t> order(nodes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return nodes[a].depth < nodes[b].depth; });
  for (const uint32_t at : order) {
    poll();
    Node& node = nodes[at];
    if (node.depth > 1) node.shorter = step(nodes[node.parent].shorter, node.byte);
    const Node& shorter = nodes[node.shorter];
    node.named = shorter.name != kNoToken ? node.shorter : shorter.named;
  }
}

void NameTable::add(const uint8_t* name, size_t bytes, uint32_t token, bool always) {
  uint32_t node = 0;
  for (size_t i = 0; i < bytes; ++i) node = forward_.enter(node, name[i]);
  if (forward_.nodes[node].name != kNoToken) throw std::invalid_argument("two tokens have the same name");
  forward_.nodes[node].name = static_cast<uint32_t>(names_.size());
  names_.push_back({token, bytes, *name, always});
}

void NameTable::finish() {
  const bool is_long = std::any_of(names_.begin(), names_.end(), [](const Name& one) { return one.bytes > kShort; });
  if (!is_long) return;
  for (const Tree::Node& end : forward_.nodes) {
    if (end.name == kNoToken) continue;
    uint32_t node = 0;
    for (const Tree::Node* at = &end; at->depth > 0; at = &forward_.nodes[at->parent])
      node = backward_.enter(node, at->byte);
    backward_.nodes[node].name = end.name;
  }
  backward_.link();
}

// --------------------------------------------------------------------------------------------- finding

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

NameTable::Match NameTable::Finder::find(const uint8_t* p, const uint8_t* limit, const uint8_t* end) {
  const bool walks = active_.longest <= kShort;
  for (; p < limit; ++p) {
    if (!active_.starts[*p]) continue;
    if (!walks && p >= end_) look(p, limit, end);
    const uint32_t name = walks ? walk(p, end) : window_[p - begin_];
    if (name != kNoToken) return {p, p + names_.names_[name].bytes, names_.names_[name].token};
  }
  return {limit, limit, kNoToken};
}

// The longest name that starts at p.
uint32_t NameTable::Finder::walk(const uint8_t* p, const uint8_t* end) const {
  const Tree& tree = names_.forward_;
  uint32_t longest = kNoToken, node = 0;
  for (; p < end; ++p) {
    node = tree.next.find(node, *p);
    if (node == kNoToken) break;
    const uint32_t name = tree.nodes[node].name;
    if (name != kNoToken && is_active(name)) longest = name;
  }
  return longest;
}

// The names of the window that begins at p. It is read from where the last of them may end.
void NameTable::Finder::look(const uint8_t* p, const uint8_t* limit, const uint8_t* end) {
  const Tree& tree = names_.backward_;
  const size_t size = std::min<size_t>(limit - p, std::max(kWindow, 2 * active_.longest));
  begin_ = p;
  end_ = p + size;
  window_.assign(size, kNoToken);
  poll_now();
  uint32_t node = 0;
  for (size_t at = std::min<size_t>(end - p, size + active_.longest - 1); at-- > 0;) {
    node = tree.step(node, p[at]);
    if (at >= size) continue;
    for (uint32_t one = tree.nodes[node].name != kNoToken ? node : tree.nodes[node].named; one != 0;
         one = tree.nodes[one].named) {
      if (!is_active(tree.nodes[one].name)) continue;
      window_[at] = tree.nodes[one].name;
      break;
    }
  }
}

}  // namespace volt
