#pragma once

#include "kernels/block/exponential.hpp"

namespace softcheck::kernels {

/// A sum as value + rest; rest is the sum of the rounding errors of the additions to value (Knuth's two-sum).
///
/// error    relative, of n additions of numbers of one sign: u + n^2 u^2; a plain sum has n u (Ogita, Rump and
///          Oishi, SIAM J. Sci. Comput. 26, 2005, Prop. 4.5). A thread may therefore add thousands of items in
///          sequence. With rescalings, in f32: each addition and each rescaling errs as one rounding of the standard
///          model (theory/proofs/strict_kernels/strict_sums.v).
template <class T>
struct CompensatedSum {
  T value;
  T rest;

  SOFTCHECK_BODY void add(T x) {
    const T sum = value + x;
    const T taken = sum - value;
    rest += (value - (sum - taken)) + (x - taken);
    value = sum;
  }
  SOFTCHECK_BODY void add(const CompensatedSum& other) {
    add(other.value);
    rest += other.rest;
  }
  /// Both parts times factor, each product rounded. For sums that are scaled once, as those of a part of the keys.
  SOFTCHECK_BODY void scale(T factor) {
    value *= factor;
    rest *= factor;
  }
  /// Both parts times factor.value + factor.rest. The rounding error of value's product is added to rest, so that a sum
  /// may be scaled thousands of times.
  SOFTCHECK_BODY void scale(const ExponentialParts<T>& factor) {
    const T product = value * factor.value;
    const T rounded = fused(value, factor.value, -product);
    rest = fused(rest, factor.value, fused(value, factor.rest, rounded));
    value = product;
  }
  /// The sum as one number: one rounding more.
  SOFTCHECK_BODY T total() const { return value + rest; }
};

}  // namespace softcheck::kernels
