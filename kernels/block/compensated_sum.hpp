#pragma once

#include "kernels/block/device.hpp"

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
  SOFTCHECK_BODY T total() const { return value + rest; }
};

}  // namespace softcheck::kernels
