#include "tokenizing/id_buffer.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <utility>

namespace volt {

IdBuffer::~IdBuffer() { std::free(ids_); }

void IdBuffer::grow(size_t more) {
  if (more > SIZE_MAX / 8 - size_) throw std::bad_alloc();
  // realloc moves pages instead of bytes. Huge pages made encoding 15% slower here.
  const size_t capacity = std::max(size_ + more, std::max<size_t>(256, capacity_ + capacity_ / 2));
  auto* ids = static_cast<uint32_t*>(std::realloc(ids_, capacity * sizeof(uint32_t)));
  if (ids == nullptr) throw std::bad_alloc();
  ids_ = ids;
  capacity_ = capacity;
}

uint32_t* IdBuffer::release() {
  size_ = capacity_ = 0;
  return std::exchange(ids_, nullptr);
}

}  // namespace volt
