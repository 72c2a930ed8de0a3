// Ids -> bytes of text: the pieces that tokens stand for, one after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace volt {

// What each token stands for: token t is text[offsets[t]..offsets[t+1]).
struct PieceText {
  std::vector<uint8_t> text;
  std::vector<uint64_t> offsets;

  size_t size() const { return offsets.size() - 1; }
};

// The place of an id that is no token, or `size`.
template <class Id>
size_t find_wrong_id(const PieceText& pieces, const Id* ids, size_t size) {
  for (size_t i = 0; i < size; ++i)
    if (static_cast<uint64_t>(ids[i]) >= pieces.size()) return i;  // negative ones are large
  return size;
}

template <class Id>
size_t joined_bytes(const PieceText& pieces, const Id* ids, size_t size) {
  size_t bytes = 0;
  for (size_t i = 0; i < size; ++i) bytes += pieces.offsets[ids[i] + 1] - pieces.offsets[ids[i]];
  return bytes;
}

template <class Id>
void join_pieces(const PieceText& pieces, const Id* ids, size_t size, uint8_t* out) {
  for (size_t i = 0; i < size; ++i) {
    const uint64_t begin = pieces.offsets[ids[i]], bytes = pieces.offsets[ids[i] + 1] - begin;
    std::memcpy(out, pieces.text.data() + begin, bytes);
    out += bytes;
  }
}

}  // namespace volt
