// Between NumPy and C++: arrays that come in, arrays that go out, buffers of bytes, and the checks
// that make both safe to hand to code that trusts its input.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

namespace nb = nanobind;

template <class T>
using Array = nb::ndarray<nb::numpy, T, nb::ndim<1>, nb::c_contig>;
template <class T>
using ArrayIn = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using ArrayOut = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Give a vector to NumPy without copying it.
template <class T, class Allocator>
Array<T> to_numpy(std::vector<T, Allocator>&& vector) {
  using Vector = std::vector<T, Allocator>;
  auto* owned = new Vector(std::move(vector));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<Vector*>(p); });
  return Array<T>(owned->data(), {owned->size()}, owner);
}

// The bytes of any object that has some: bytes, bytearray, memoryview, mmap.
struct BufferView {
  Py_buffer view;
  explicit BufferView(nb::handle object) {
    if (PyObject_GetBuffer(object.ptr(), &view, PyBUF_SIMPLE) != 0) throw nb::python_error();
  }
  ~BufferView() { PyBuffer_Release(&view); }
  BufferView(const BufferView&) = delete;
  BufferView& operator=(const BufferView&) = delete;
  const uint8_t* data() const { return static_cast<const uint8_t*>(view.buf); }
  size_t size() const { return static_cast<size_t>(view.len); }
};

inline void check_size(size_t size, size_t expected) {
  if (size != expected) throw std::invalid_argument("the columns differ in length");
}

// Item i of a list is [offsets[i], offsets[i + 1]): together the items must fill [0, end).
inline void check_offsets(const ArrayIn<uint64_t>& offsets, size_t end, bool may_be_empty = false) {
  if (offsets.size() == 0 || offsets.data()[0] != 0 || offsets.data()[offsets.size() - 1] != end)
    throw std::invalid_argument("offsets do not span the data");
  for (size_t i = 1; i < offsets.size(); ++i)
    if (offsets.data()[i - 1] + (may_be_empty ? 0 : 1) > offsets.data()[i])
      throw std::invalid_argument("an empty item, or offsets out of order");
}

inline void check_words(const ArrayIn<uint8_t>& text, const ArrayIn<uint64_t>& offsets,
                        const ArrayIn<uint64_t>& counts) {
  check_size(offsets.size(), counts.size() + 1);
  check_offsets(offsets, text.size());
}

// The last of the tokens are merged, each from two that come before it.
inline void check_parents(const ArrayIn<uint32_t>& left, const ArrayIn<uint32_t>& right, size_t tokens) {
  const size_t merges = left.size();
  check_size(right.size(), merges);
  if (tokens < merges) throw std::invalid_argument("the columns differ in length");
  for (size_t m = 0; m < merges; ++m)
    if (left.data()[m] >= tokens - merges + m || right.data()[m] >= tokens - merges + m)
      throw std::invalid_argument("a merge names a token that does not exist yet");
}

// Native code trusts that words are valid UTF-8, except where it reads bytes only.
void check_encodable(const ArrayIn<uint8_t>& text, const ArrayIn<uint64_t>& offsets, bool bytes_only);
