// The sums that an iteration of the transport solver takes.
#include "choosing/transport.hpp"

#include "bindings/released.hpp"
#include "bindings/arrays.hpp"

using namespace nb::literals;

namespace {

// The support of a transport problem, checked once, and what an iteration reads of it.
class TransportSupport {
 public:
  TransportSupport(ArrayIn<int32_t> pointer, ArrayIn<int32_t> character, size_t characters)
      : pointer_(std::move(pointer)), character_(std::move(character)), characters_(characters) {
    const size_t entries = character_.size();
    if (pointer_.size() == 0 || pointer_.data()[0] != 0 ||
        static_cast<size_t>(pointer_.data()[pointer_.size() - 1]) != entries)
      throw std::invalid_argument("the pointers do not span the support");
    for (size_t j = 1; j < pointer_.size(); ++j) {
      const int32_t begin = pointer_.data()[j - 1], end = pointer_.data()[j];
      if (begin >= end || static_cast<size_t>(end) > entries)
        throw std::invalid_argument("a token without characters, or pointers out of order");
      for (int32_t e = begin; e < end; ++e) {
        const int32_t i = character_.data()[e];
        if (i < 0 || static_cast<size_t>(i) >= characters || (e > begin && i <= character_.data()[e - 1]))
          throw std::invalid_argument("characters of a token out of range or order");
      }
    }
    by_ = volt::by_character(view());
    pattern_ = volt::shared_tokens(view(), by_.pointer.data(), by_.token.data());
  }

  void half_step(const ArrayIn<double>& costs, double gamma, const ArrayIn<double>& potential,
                 const ArrayIn<double>& lower, const ArrayIn<double>& upper,
                 const ArrayIn<double>& log_lower, const ArrayIn<double>& log_upper,
                 ArrayOut<double> plan, ArrayOut<double> log_sum, ArrayOut<double> token_mass,
                 ArrayOut<double> character_mass) const {
    const volt::Support support = view();
    for (size_t size : {lower.size(), upper.size(), log_lower.size(), log_upper.size(), log_sum.size(),
                        token_mass.size()})
      check_fit(size, support.tokens);
    for (size_t size : {costs.size(), plan.size()}) check_fit(size, character_.size());
    for (size_t size : {potential.size(), character_mass.size()}) check_fit(size, characters_);
    Released release;
    volt::token_half_step(support, costs.data(), gamma, potential.data(),
                          {lower.data(), upper.data(), log_lower.data(), log_upper.data()}, plan.data(),
                          log_sum.data(), token_mass.data(), character_mass.data());
  }

  void couple(const ArrayIn<double>& plan, const ArrayIn<double>& weight, const ArrayIn<double>& scale,
              ArrayOut<double> value) const {
    check_fit(plan.size(), character_.size());
    check_fit(weight.size(), pointer_.size() - 1);
    check_fit(scale.size(), characters_);
    check_fit(value.size(), pattern_.column.size());
    Released release;
    volt::couple(view(), by_.pointer.data(), by_.token.data(), plan.data(), weight.data(), scale.data(),
                 pattern_.pointer.data(), pattern_.column.data(), value.data());
  }

  void solve_coupled(const ArrayIn<double>& value, double theta, double enough,
                     const ArrayIn<double>& right, ArrayOut<double> result) const {
    check_fit(value.size(), pattern_.column.size());
    for (size_t size : {right.size(), result.size()}) check_fit(size, characters_);
    Released release;
    volt::solve_coupled({pattern_.pointer.data(), pattern_.column.data(), value.data(), characters_}, theta,
                        enough, right.data(), result.data());
  }

  size_t couplings() const { return pattern_.column.size(); }
  size_t bytes() const {
    return sizeof(int32_t) * (by_.pointer.capacity() + by_.token.capacity() + pattern_.pointer.capacity() +
                              pattern_.column.capacity());
  }
  Array<int32_t> pattern_pointer() const { return to_numpy(std::vector(pattern_.pointer)); }
  Array<int32_t> pattern_column() const { return to_numpy(std::vector(pattern_.column)); }

 private:
  static void check_fit(size_t size, size_t expected) {
    if (size != expected) throw std::invalid_argument("an array does not fit the support");
  }
  volt::Support view() const {
    return {pointer_.data(), character_.data(), pointer_.size() - 1, characters_};
  }

  ArrayIn<int32_t> pointer_, character_;
  size_t characters_;
  volt::ByCharacter by_;
  volt::SymmetricPattern pattern_;
};

// Sums that decide or are printed are added here, from the first to the last: libraries for linear
// algebra add in an order that depends on the number of threads and on the machine.
double total(const ArrayIn<double>& values) {
  double sum = 0;
  for (size_t i = 0; i < values.size(); ++i) sum += values.data()[i];
  return sum;
}

double dot(const ArrayIn<double>& left, const ArrayIn<double>& right) {
  check_size(left.size(), right.size());
  double sum = 0;
  for (size_t i = 0; i < left.size(); ++i) sum += left.data()[i] * right.data()[i];
  return sum;
}

}  // namespace

void register_transport(nb::module_& m) {
  m.def("total", &total, "values"_a, "The sum, added from the first to the last.");
  m.def("dot", &dot, "left"_a, "right"_a, "The sum of products, added from the first to the last.");
  m.attr("SMALLEST_EXPONENT") = volt::kSmallestExponent;
  nb::class_<TransportSupport>(m, "TransportSupport", "Which characters each token contains.")
      .def(nb::init<ArrayIn<int32_t>, ArrayIn<int32_t>, size_t>(), "pointer"_a, "character"_a, "characters"_a)
      .def("half_step", &TransportSupport::half_step, "costs"_a, "gamma"_a, "potential"_a, "lower"_a,
           "upper"_a, "log_lower"_a, "log_upper"_a, "plan"_a, "log_sum"_a, "token_mass"_a, "character_mass"_a)
      .def("couple", &TransportSupport::couple, "plan"_a, "weight"_a, "scale"_a, "value"_a)
      .def("solve_coupled", &TransportSupport::solve_coupled, "value"_a, "theta"_a, "enough"_a, "right"_a,
           "result"_a)
      .def_prop_ro("couplings", &TransportSupport::couplings, "Pairs of characters that share a token.")
      .def_prop_ro("nbytes", &TransportSupport::bytes, "Bytes of memory, without the arrays it was made of.")
      .def_prop_ro("pattern_pointer", &TransportSupport::pattern_pointer, nb::rv_policy::move)
      .def_prop_ro("pattern_column", &TransportSupport::pattern_column, nb::rv_policy::move);
}
