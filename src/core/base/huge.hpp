// An allocator for large tables that are read in random order. It asks for huge pages, where the system
// has them, so that translating an address does not cost more than the read itself.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace volt {

template <class T>
struct HugeAllocator {
  using value_type = T;
  HugeAllocator() = default;
  template <class U>
  HugeAllocator(const HugeAllocator<U>&) {}

  T* allocate(size_t n) {
    constexpr size_t kPage = 2 << 20;
    if (n > static_cast<size_t>(-1) / 2 / sizeof(T)) throw std::bad_alloc();
    size_t bytes = n * sizeof(T);
    void* memory;
    if (bytes < 2 * kPage) {
      memory = std::malloc(bytes);
    } else {
      bytes = (bytes + kPage - 1) / kPage * kPage;
      memory = std::aligned_alloc(kPage, bytes);
#if defined(__linux__)
      if (memory) madvise(memory, bytes, MADV_HUGEPAGE);  // only advice: it does not matter if this fails
#endif
    }
    if (!memory) throw std::bad_alloc();
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, size_t) { std::free(memory); }
  template <class U>
  bool operator==(const HugeAllocator<U>&) const { return true; }
};

template <class T>
using HugeVector = std::vector<T, HugeAllocator<T>>;

}  // namespace volt
