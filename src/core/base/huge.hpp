// An allocator for large tables that are read in random order. It asks for huge pages, where the system
// has them, so that translating an address does not cost more than the read itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif
#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace volt {

// Memory of whole huge pages. It goes back to the system when it is freed: a run has several stages, and the
// peak of one is not to be added to that of the next.
inline constexpr size_t kHugePage = 2 << 20;

inline void* allocate_huge(size_t bytes) {
#if defined(__linux__)
  void* memory = mmap(nullptr, bytes + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  char* begin = static_cast<char*>(memory);
  const size_t before = (kHugePage - reinterpret_cast<uintptr_t>(memory) % kHugePage) % kHugePage;
  if (before != 0) munmap(begin, before);
  munmap(begin + before + bytes, kHugePage - before);
  madvise(begin + before, bytes, MADV_HUGEPAGE);  // only advice: it does not matter if this fails
  return begin + before;
#else
  return std::aligned_alloc(kHugePage, bytes);
#endif
}

inline void free_huge(void* memory, [[maybe_unused]] size_t bytes) {
#if defined(__linux__)
  munmap(memory, bytes);
#else
  std::free(memory);
#endif
}

template <class T>
struct HugeAllocator {
  using value_type = T;
  HugeAllocator() = default;
  template <class U>
  HugeAllocator(const HugeAllocator<U>&) {}

  T* allocate(size_t n) {
    if (n > static_cast<size_t>(-1) / 2 / sizeof(T)) throw std::bad_alloc();
    void* memory = is_huge(n) ? allocate_huge(pages(n)) : std::malloc(n * sizeof(T));
    if (!memory) throw std::bad_alloc();
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, size_t n) {
    if (is_huge(n)) free_huge(memory, pages(n));
    else std::free(memory);
  }
  template <class U>
  bool operator==(const HugeAllocator<U>&) const { return true; }

 private:
  static bool is_huge(size_t n) { return n * sizeof(T) >= 2 * kHugePage; }
  static size_t pages(size_t n) { return (n * sizeof(T) + kHugePage - 1) / kHugePage * kHugePage; }
};

// Return what the C library keeps of freed memory, after a stage that needed much.
inline void release_free_memory() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

template <class T>
using HugeVector = std::vector<T, HugeAllocator<T>>;

}  // namespace volt
