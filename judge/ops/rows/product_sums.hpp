#pragma once

#include <cstddef>
#include <span>
#include <variant>
#include <vector>

#include "judge/ops/rows/long_softmax.hpp"
#include "numerics/enclosures/upper_bound.hpp"
#include "numerics/rounding/contract.hpp"

namespace softcheck::proptests {

/// In which numbers sums of products are added up. A double's roundings, 2^-53 of a term, matter where a kernel's are
/// as small; a long double costs some five times as much.
enum class Digits { of_double, of_long_double };
Digits digits_for(const numerics::Contract& contract);

/// sum a_t b_t of exact factors, as many each.
struct DotProduct {
  long double value = 0;
  long double magnitude = 0;  // no less than sum |a_t b_t|
  long double error = 0;
};
DotProduct dot_product(std::span<const double> a, std::span<const double> b, Digits digits);

/// No less than sum |a_t|.
numerics::UpperBound sum_of_magnitudes(std::span<const double> a);

/// For every column t at once sum_k x_k v_kt, x_k approximate and v_kt exact, and what such a sum is judged by.
class ProductSums {
 public:
  /// size     what a term is compared with; |x| and its error where that is more
  /// error    what a kernel's term may err by for each unit of |v|; floor: by what underflows, or of any other kind
  struct Factor {
    LongApproximation x;
    double size = 0;
    numerics::UpperBound error, floor;
  };

  ProductSums(std::size_t columns, Digits digits);
  /// row    (columns) finite; outlives this
  void add(const Factor& factor, std::span<const double> row);

  LongApproximation total(std::size_t t) const;
  double size(std::size_t t) const;                 // sum size |v|
  numerics::UpperBound error(std::size_t t) const;  // sum error |v|
  numerics::UpperBound floor(std::size_t t) const;  // sum floor |v|

 private:
  template <class Real>
  struct Totals {
    std::vector<Real> values, errors;
  };
  struct Term {
    std::span<const double> row;
    numerics::UpperBound error, floor;
  };
  bool is_of_zeros(std::size_t t) const;
  numerics::UpperBound bound(double computed, std::size_t t, numerics::UpperBound Term::*of) const;

  std::variant<Totals<double>, Totals<long double>> totals_;
  std::vector<double> sizes_, errors_, floors_;
  std::vector<Term> terms_;
};

}  // namespace softcheck::proptests
