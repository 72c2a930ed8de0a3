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

// The next character that a rule may start with.
const uint8_t* CharacterMap::next_start(const uint8_t* p, const uint8_t* end) const {
  while (p < end) {
    const uint8_t byte = *p;
    if (byte < 0x80) {
      if (!(plain_[byte] && (p + 1 == end || p[1] < 0x80)) && starts_[byte >> 6] >> (byte & 63) & 1) return p;
      ++p;
    } else if (byte < 0xE0) {
      if (starts_[byte & 31] >> (p[1] & 63) & 1) return p;
      p += 2;
    } else if (byte < 0xF0) {
      if (starts_[(byte & 15) << 6 | (p[1] & 63)] >> (p[2] & 63) & 1) return p;
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
  while ((p = next_start(p, end)) < end) {
    const Rule rule = find(p, end);
    if (rule.bytes == 0) {
      p += sequence_length(*p);
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
