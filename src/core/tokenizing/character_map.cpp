#include "tokenizing/character_map.hpp"

#include <cstring>
#include <stdexcept>

#include "base/stop.hpp"
#include "base/unicode.hpp"

namespace volt {
namespace {

constexpr uint32_t kNoUnit = 0xFFFFFFFF;
constexpr size_t kLongestRule = 256;  // bytes
constexpr std::string_view kMark = "\xE2\x96\x81";

// A unit of the trie: its label is bits 0 to 7 and 31, bit 8 says whether a value follows, and the rest is
// the offset of what follows, in units of 256 if bit 9 is set.
uint32_t label_of(uint32_t unit) { return unit & 0x800000FF; }
bool has_value(uint32_t unit) { return (unit & 0x100) != 0; }
uint32_t offset_of(uint32_t unit) { return (unit >> 10) << ((unit & 0x200) >> 6); }

}  // namespace

CharacterMap::CharacterMap(const uint8_t* table, size_t bytes) {
  plain_.fill(true);
  std::fill(plain_.begin() + 0x80, plain_.end(), false);
  if (bytes == 0) return;
  uint32_t size = 0;
  if (bytes >= sizeof size) std::memcpy(&size, table, sizeof size);
  if (size % 4 != 0 || size < 4 || size >= bytes - 4 || table[bytes - 1] != 0)
    throw std::invalid_argument("a table of characters that is cut short");
  units_.resize(size / 4);
  std::memcpy(units_.data(), table + 4, size);
  texts_.assign(reinterpret_cast<const char*>(table) + 4 + size, bytes - 4 - size);
  const uint32_t root = offset_of(units_[0]);
  for (unsigned byte = 0; byte < 256; ++byte) {
    const uint32_t unit = next(root, static_cast<uint8_t>(byte));
    if (unit == kNoUnit) continue;
    if (byte >= 0x80) {
      note_starts(static_cast<uint8_t>(byte), unit);
      continue;
    }
    starts_[byte >> 6] |= uint64_t{1} << (byte & 63);
    plain_[byte] = !has_value(units_[unit]);
    for (unsigned second = 0; second < 0x80; ++second)
      if (next(after(unit), static_cast<uint8_t>(second)) != kNoUnit) plain_[byte] = false;
  }
}

// Note which characters with this first byte a rule starts with.
void CharacterMap::note_starts(uint8_t first, uint32_t unit) {
  const auto each = [this](uint32_t from, auto&& take) {
    for (unsigned low = 0; low < 64; ++low)
      if (const uint32_t to = next(after(from), static_cast<uint8_t>(0x80 | low)); to != kNoUnit) take(low, to);
  };
  if (first >= 0xF0) {
    beyond_ = true;
  } else if (first >= 0xE0) {
    each(unit, [&](unsigned middle, uint32_t to) {
      each(to, [&](unsigned low, uint32_t) { starts_[(first & 15) << 6 | middle] |= uint64_t{1} << low; });
    });
  } else {
    each(unit, [&](unsigned low, uint32_t) { starts_[first & 31] |= uint64_t{1} << low; });
  }
}

// May a rule start at p?
bool CharacterMap::starts(const uint8_t* p, const uint8_t* end, size_t length) const {
  switch (length) {
    case 1: return !(plain_[*p] && (p + 1 == end || p[1] < 0x80)) && starts_[*p >> 6] >> (*p & 63) & 1;
    case 2: return starts_[p[0] & 31] >> (p[1] & 63) & 1;
    case 3: return starts_[(p[0] & 15) << 6 | (p[1] & 63)] >> (p[2] & 63) & 1;
    default: return beyond_;
  }
}

// The unit that a byte leads to.
uint32_t CharacterMap::next(uint32_t place, uint8_t byte) const {
  const uint32_t unit = place ^ byte;
  return unit < units_.size() && label_of(units_[unit]) == byte ? unit : kNoUnit;
}

uint32_t CharacterMap::after(uint32_t unit) const { return unit ^ offset_of(units_[unit]); }

CharacterMap::Rule CharacterMap::find(const uint8_t* p, const uint8_t* end) const {
  Rule found;
  uint32_t place = offset_of(units_[0]);
  if (static_cast<size_t>(end - p) > kLongestRule) end = p + kLongestRule;
  for (const uint8_t* q = p; q < end; ++q) {
    const uint32_t unit = next(place, *q);
    if (unit == kNoUnit) break;
    place = after(unit);
    const bool whole = q + 1 == end || !is_continuation(q[1]);
    if (whole && has_value(units_[unit]) && place < units_.size()) {
      const uint32_t value = units_[place] & 0x7FFFFFFF;
      if (value < texts_.size()) found = {static_cast<size_t>(q + 1 - p), value};
    }
  }
  return found;
}

bool CharacterMap::map(const uint8_t* p, const uint8_t* end, std::string& out) const {
  const uint8_t* run = p;  // what is not copied yet
  bool changed = false;
  while (p < end) {
    const size_t length = *p < 0x80 ? 1 : sequence_length(*p);
    const Rule rule = starts(p, end, length) ? find(p, end) : Rule{};
    if (rule.bytes == 0) {
      p += length;
      continue;
    }
    poll();
    out.append(run, p);
    out.append(texts_.data() + rule.value);
    p += rule.bytes;
    run = p;
    changed = true;
  }
  if (changed) out.append(run, end);
  return changed;
}

bool CharacterMap::clean(const uint8_t* p, const uint8_t* end, bool trims, std::string& out) const {
  out.clear();
  const bool mapped = map(p, end, out);
  const std::string_view text =
      mapped ? std::string_view(out) : std::string_view(reinterpret_cast<const char*>(p), end - p);
  const bool marked = text.find(kMark) != text.npos;
  const bool spaced = trims && !text.empty() &&
                      (text.front() == ' ' || text.back() == ' ' || text.find("  ") != text.npos);
  if (!marked && !spaced) return mapped;
  std::string kept;
  kept.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (trims && text[i] == ' ' && (i == 0 || text[i - 1] == ' ')) continue;
    if (marked && text.compare(i, kMark.size(), kMark) == 0) {
      kept += ' ';
      i += kMark.size() - 1;
    } else {
      kept += text[i];
    }
  }
  while (trims && !kept.empty() && kept.back() == ' ') kept.pop_back();
  out = std::move(kept);
  return true;
}

}  // namespace volt
