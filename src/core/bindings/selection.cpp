// Sets of tokens that are selected by transport over positions, and the bound that certifies them.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>

#include <memory>

#include "bindings/released.hpp"
#include "bindings/arrays.hpp"
#include "bindings/convert.hpp"
#include "choosing/selection_bound.hpp"
#include "choosing/selection_search.hpp"

using namespace nb::literals;

namespace {

using Lattice = std::shared_ptr<volt::SelectionLattice>;

Lattice make_lattice(const ArrayIn<uint8_t>& text, const ArrayIn<uint64_t>& offsets,
                     const ArrayIn<uint8_t>& inside, size_t alphabet, const ArrayIn<uint8_t>& words,
                     const ArrayIn<uint64_t>& word_offsets, const ArrayIn<uint64_t>& counts,
                     uint64_t unit, const std::string& mark, bool bytes_only, unsigned threads) {
  check_size(offsets.size(), inside.size() + 1);
  check_offsets(offsets, text.size());
  check_encodable(words, word_offsets, bytes_only);
  check_size(word_offsets.size(), counts.size() + 1);
  if (threads == 0) throw std::invalid_argument("no threads");
  if (alphabet > inside.size()) throw std::invalid_argument("an alphabet of more symbols than there are keys");
  const volt::WordMark where = word_mark_of(mark);
  Released release;
  return std::make_shared<volt::SelectionLattice>(
      volt::KeyView{text.data(), offsets.data(), inside.data(), inside.size()}, alphabet,
      volt::WordView{words.data(), word_offsets.data(), counts.data(), counts.size()}, unit, where,
      bytes_only, threads);
}

Array<uint64_t> count_uses(const Lattice& lattice, const ArrayIn<uint32_t>& costs, uint32_t symbol) {
  check_size(costs.size(), lattice->tokens());
  std::vector<uint64_t> uses;
  {
    Released release;
    uses = volt::count_uses(*lattice, {costs.data(), costs.data() + costs.size()}, symbol);
  }
  return to_numpy(std::move(uses));
}

Array<uint64_t> count_places(const Lattice& lattice) { return to_numpy(volt::count_places(*lattice)); }

using Moves = std::pair<Array<uint32_t>, Array<uint64_t>>;

// A search, and the lattice that it looks at.
class Search {
 public:
  Search(Lattice lattice, const ArrayIn<uint8_t>& inside) : lattice_(std::move(lattice)) {
    check_size(inside.size(), lattice_->tokens());
    std::vector<uint8_t> mask(inside.data(), inside.data() + inside.size());
    Released release;
    search_ = std::make_unique<volt::SelectionSearch>(*lattice_, std::move(mask));
  }
  uint64_t total() const { return search_->total(); }
  uint64_t value() const { return search_->value(); }
  size_t size() const { return search_->size(); }
  Array<uint8_t> inside() const { return to_numpy(std::vector(search_->inside())); }
  Array<uint64_t> losses() const { return all([&] { return search_->losses(); }); }
  Array<uint64_t> gains() const { return all([&] { return search_->gains(); }); }
  Moves prune(size_t size) { return moved([&] { return search_->prune(size); }); }
  Moves grow(size_t size) { return moved([&] { return search_->grow(size); }); }
  const Lattice& lattice() const { return lattice_; }

  const volt::SelectionSearch& native() const { return *search_; }

 private:
  template <class Values>
  static Array<uint64_t> all(Values&& values) {
    std::vector<uint64_t> found;
    {
      Released release;
      found = values();
    }
    return to_numpy(std::move(found));
  }
  template <class Move>
  static Moves moved(Move&& move) {
    volt::SelectionSearch::Moves moves;
    {
      Released release;
      moves = move();
    }
    return {to_numpy(std::move(moves.tokens)), to_numpy(std::move(moves.values))};
  }

  Lattice lattice_;
  std::unique_ptr<volt::SelectionSearch> search_;
};

class Bound {
 public:
  Bound(const Search& set, size_t size) : lattice_(set.lattice()), bound_(*lattice_, set.native(), size) {}
  std::pair<int64_t, int64_t> step(double length, int32_t fresh) {
    if (fresh < 0 || fresh > volt::kWhole) throw std::invalid_argument("a weight above one, or below zero");
    Released release;
    const auto found = bound_.step(length, fresh);
    return {found.bound, found.norm};
  }
  Array<int32_t> prices() const { return to_numpy(std::vector(bound_.prices())); }

 private:
  Lattice lattice_;
  volt::SelectionBound bound_;
};

}  // namespace

void register_selection(nb::module_& m) {
  nb::class_<volt::SelectionLattice>(m, "SelectionLattice", "The candidates that each word contains, as edges.")
      .def_prop_ro("words", &volt::SelectionLattice::seen)
      .def_prop_ro("tokens", &volt::SelectionLattice::tokens)
      .def_prop_ro("edges", &volt::SelectionLattice::edges);
  m.def("selection_lattice", &make_lattice, "text"_a, "offsets"_a, "inside"_a, "alphabet"_a, "words"_a,
        "word_offsets"_a, "counts"_a, "unit"_a, "mark"_a, "bytes_only"_a, "threads"_a);
  m.def("count_uses", &count_uses, "lattice"_a, "costs"_a, "symbol"_a,
        "The weight of each token on the cheapest paths.");
  m.def("count_places", &count_places, "lattice"_a, "The weight of all places where each token occurs.");
  nb::class_<Search>(m, "SelectionSearch", "A set of tokens, and the words cut into the fewest of them.")
      .def(nb::init<Lattice, const ArrayIn<uint8_t>&>(), "lattice"_a, "inside"_a)
      .def_prop_ro("total", &Search::total, "Tokens of the corpus.")
      .def_prop_ro("value", &Search::value, "The same sum over weights.")
      .def_prop_ro("size", &Search::size)
      .def_prop_ro("inside", &Search::inside, nb::rv_policy::move)
      .def("losses", &Search::losses)
      .def("gains", &Search::gains)
      .def("prune", &Search::prune, "size"_a)
      .def("grow", &Search::grow, "size"_a);
  nb::class_<Bound>(m, "SelectionBound", "Prices of edges, and the lower bound that they prove.")
      .def(nb::init<const Search&, size_t>(), "set"_a, "size"_a)
      .def("step", &Bound::step, "length"_a, "fresh"_a)
      .def_prop_ro("prices", &Bound::prices, nb::rv_policy::move);
  m.attr("NEVER") = volt::kNever;
  m.attr("PRICE_UNIT") = volt::kPriceUnit;
  m.attr("SLOPE_UNIT") = volt::kSlopeUnit;
  m.attr("WHOLE") = volt::kWhole;
}
