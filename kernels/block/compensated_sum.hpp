#pragma once

#include "kernels/block/exponential.hpp"

namespace softcheck::kernels {

/// A sum and what its additions rounded away (Knuth's two-sum): n additions of positive numbers err by u + n^2 u^2 and
/// not by n u, so that a thread may add thousands of items one after another.
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
  SOFTCHECK_BODY void scale(T factor) {
    value *= factor;
    rest *= factor;
  }
  /// What the products round away is kept, too.
  SOFTCHECK_BODY void scale(const ExponentialParts<T>& factor) {
    const T product = value * factor.value;
    const T rounded = fused(value, factor.value, -product);
    rest = fused(rest, factor.value, fused(value, factor.rest, rounded));
    value = product;
  }
  SOFTCHECK_BODY T total() const { return value + rest; }
};

}  // namespace softcheck::kernels
