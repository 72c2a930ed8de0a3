// Ids, one after the other. What was appended stays in place until more room is needed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace volt {

class IdBuffer {
 public:
  IdBuffer() = default;
  IdBuffer(const IdBuffer&) = delete;
  IdBuffer& operator=(const IdBuffer&) = delete;
  ~IdBuffer();

  // Room for `more` ids; returns where they go. Then `advance` to one past the last one written.
  uint32_t* room(size_t more) {
    if (more > capacity_ - size_) grow(more);
    return ids_ + size_;
  }
  void advance(const uint32_t* end) { size_ = static_cast<size_t>(end - ids_); }
  void clear() { size_ = 0; }
  size_t size() const { return size_; }
  const uint32_t* data() const { return ids_; }
  // Give the memory away, to be freed by std::free.
  uint32_t* release();

 private:
  void grow(size_t more);
  uint32_t* ids_ = nullptr;
  size_t size_ = 0, capacity_ = 0;
};

}  // namespace volt
