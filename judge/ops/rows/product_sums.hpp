#pragma once

#include <cstddef>
#include <span>
#include <variant>
#include <vector>

#include "judge/ops/rows/long_softmax.hpp"
#include "numerics/enclosures/upper_bound.hpp"
#include "numerics/rounding/contract.hpp"

namespace softcheck::proptests {

/// The type in which sums of products are added. A double's roundings, 2^-53 of a term, matter if the kernel's are as
/// small; long double costs some five times as much.
enum class Digits { of_double, of_long_double };
Digits digits_for(const numerics::Contract& contract);

/// sum a_t b_t of exact factors; a and b have the same length.
struct DotProduct {
  long double value = 0;
  long double magnitude = 0;  // at least sum |a_t b_t|
  long double error = 0;
};
DotProduct dot_product(std::span<const double> a, std::span<const double> b, Digits digits);

/// At least sum |a_t|.
numerics::UpperBound sum_of_magnitudes(std::span<const double> a);

/// For all columns t: sum_k x_k v_kt with approximate x_k and exact v_kt, and the parts of its threshold.
class ProductSums {
 public:
  /// size     magnitude to compare a term with; |x| plus its error if that is larger
  /// error    a kernel's error per unit of |v|; floor: the same from underflow, or any other kind
  struct Factor {
    LongApproximation x;
    double size = 0;
    numerics::UpperBound error, floor;
  };

  ProductSums(std::size_t columns, Digits digits);
  /// row    (columns) finite; must outlive this object
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
