// Ids -> text.
#include "bindings/released.hpp"
#include "bindings/arrays.hpp"
#include "tokenizing/decode.hpp"

using namespace nb::literals;

namespace {

void make_pieces(volt::PieceText* self, const ArrayIn<uint8_t>& text, const ArrayIn<uint64_t>& offsets) {
  check_offsets(offsets, text.size(), true);
  new (self) volt::PieceText{{text.data(), text.data() + text.size()},
                             {offsets.data(), offsets.data() + offsets.size()}};
}

template <class Id>
nb::object join(const volt::PieceText& self, const ArrayIn<Id>& ids) {
  const size_t wrong = volt::find_wrong_id(self, ids.data(), ids.size());
  if (wrong < ids.size()) return nb::int_(wrong);
  const size_t bytes = volt::joined_bytes(self, ids.data(), ids.size());
  PyObject* out = PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(bytes));
  if (out == nullptr) throw nb::python_error();
  nb::object owner = nb::steal(out);
  auto* to = reinterpret_cast<uint8_t*>(PyBytes_AsString(out));
  Released release;
  volt::join_pieces(self, ids.data(), ids.size(), to);
  return owner;
}

}  // namespace

void register_decoding(nb::module_& m) {
  const char* about = "The bytes of ids, or the place of the first that is not a token.";
  nb::class_<volt::PieceText>(m, "PieceText", "What each token stands for.")
      .def("__init__", &make_pieces, "text"_a, "offsets"_a)
      .def("join", &join<uint32_t>, nb::arg("ids").noconvert(), about)
      .def("join", &join<uint16_t>, nb::arg("ids").noconvert(), about)
      .def("join", &join<int64_t>, nb::arg("ids").noconvert(), about)
      .def("join", &join<int32_t>, nb::arg("ids").noconvert(), about);
}
