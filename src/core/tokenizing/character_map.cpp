#include "tokenizing/character_map.hpp"

#include <cstring>
#include <stdexcept>

#include "base/stop.hpp"
#include "base/unicode.hpp"

namespace volt {
namespace {

constexpr uint32_t kNoUnit = 0xFFFFFFFF;
constexpr size_t kLongestRule = 256;  // bytes
constexpr size_t kMostLooks = 1 << 24;  // a made table may lead everywhere; published ones need 2^20
constexpr std::string_view kMark = "\xE2\x96\x81";

// A unit of the trie: its label is bits 0 to 7 and 31, bit 8 says whether a value follows, and the rest is
// the offset of what follows, in units of 256 if bit 9 is set.
uint32_t label_of(uint32_t unit) { return unit & 0x800000FF; }
bool has_value(uint32_t unit) { return (unit & 0x100) != 0; }
uint32_t offset_of(uint32_t unit) { return (unit >> 10) << ((unit & 0x200) >> 6); }

// Without a way out of the loop, several characters are looked at together.
bool has_two_spaces(std::string_view text) {
  unsigned found = 0;
  for (size_t i = 0; i + 1 < text.size(); ++i) found |= (text[i] == ' ') & (text[i + 1] == ' ');
  return found != 0;
}
bool has_mark(std::string_view text) {
  unsigned found = 0;
  for (size_t i = 0; i + 2 < text.size(); ++i)
    found |= (text[i] == kMark[0]) & (text[i + 1] == kMark[1]) & (text[i + 2] == kMark[2]);
  return found != 0;
}

}  // namespace

CharacterMap::CharacterMap(const uint8_t* table, size_t bytes) {
  if (bytes == 0) return;
  uint32_t size = 0;
  if (bytes >= sizeof size) std::memcpy(&size, table, sizeof size);
  if (size % 4 != 0 || size < 4 || size >= bytes - 4 || table[bytes - 1] != 0)
    throw std::invalid_argument("a table of characters that is cut short");
  units_.resize(size / 4);
  std::memcpy(units_.data(), table + 4, size);
  texts_.assign(reinterpret_cast<const char*>(table) + 4 + size, bytes - 4 - size);
  const auto note = [this](uint32_t code_point) { notable_[code_point >> 6] |= uint64_t{1} << (code_point & 63); };
  std::vector<uint32_t> places;
  each_character(offset_of(units_[0]), [&](uint32_t code_point, uint32_t unit) {
    if (has_value(units_[unit])) note(code_point);
    places.push_back(after(unit));
  });
  for (const uint32_t place : places) {
    poll();
    each_character(place, [&](uint32_t code_point, uint32_t) { note(code_point); });
  }
  if (looked_ > kMostLooks) notable_.fill(~uint64_t{0});
}

// Calls take(code_point, unit) for every character up to U+FFFF that leads on from a place of the trie.
template <class Take>
void CharacterMap::each_character(uint32_t place, Take&& take) {
  const auto continued = [this](uint32_t unit, auto&& found) {
    for (uint8_t low = 0; low < 64; ++low)
      if (const uint32_t to = next(after(unit), 0x80 | low); to != kNoUnit) found(low, to);
    looked_ += 64;
  };
  for (unsigned byte = 0; byte < 256 && looked_ <= kMostLooks; ++byte) {
    const uint32_t unit = next(place, static_cast<uint8_t>(byte));
    if (unit == kNoUnit) continue;
    if (byte < 0x80) {
      take(byte, unit);
    } else if (byte < 0xE0) {
      continued(unit, [&](uint32_t low, uint32_t to) { take((byte & 31) << 6 | low, to); });
    } else if (byte < 0xF0) {
      continued(unit, [&](uint32_t middle, uint32_t to) {
        continued(to, [&](uint32_t low, uint32_t last) { take((byte & 15) << 12 | middle << 6 | low, last); });
      });
    } else {
      beyond_ = true;
    }
  }
  looked_ += 256;
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

const uint8_t* CharacterMap::next_notable(const uint8_t* p, const uint8_t* end) const {
  while (p < end) {
    const uint8_t byte = *p;
    if (byte < 0x80) {
      if (notable_[byte >> 6] >> (byte & 63) & 1) return p;
      ++p;
    } else if (byte < 0xE0) {
      if (notable_[byte & 31] >> (p[1] & 63) & 1) return p;
      p += 2;
    } else if (byte < 0xF0) {
      if (notable_[(byte & 15) << 6 | (p[1] & 63)] >> (p[2] & 63) & 1) return p;
      p += 3;
    } else {
      if (beyond_) return p;
      p += 4;
    }
  }
  return end;
}

bool CharacterMap::map(const uint8_t* p, const uint8_t* end, std::string& out) const {
  const uint8_t* run = p;  // what is not copied yet
  bool changed = false;
  for (;;) {
    const uint8_t* at = next_notable(p, end);
    if (at == end) break;
    Rule rule;
    if (at > p) {  // a rule that starts with the character before it comes first
      const uint8_t* before = at - 1;
      while (is_continuation(*before)) --before;
      rule = find(before, end);
      if (rule.bytes != 0) at = before;
    }
    if (rule.bytes == 0) rule = find(at, end);
    if (rule.bytes == 0) {
      p = at + sequence_length(*at);
      continue;
    }
    poll();
    out.append(run, at);
    out.append(texts_.data() + rule.value);
    p = run = at + rule.bytes;
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
  const bool marked = has_mark(text);
  const bool spaced = trims && !text.empty() && (text.front() == ' ' || text.back() == ' ' || has_two_spaces(text));
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
