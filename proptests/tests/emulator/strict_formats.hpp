#pragma once

#include <gtest/gtest.h>

#include "kernels/block/formats.hpp"
#include "proptests/tests/kernels/loaded_kernel.hpp"

namespace softcheck::emulator_tests {

using kernels::BFloat;
using kernels::Half;

using StrictElements = testing::Types<float, double, Half, BFloat>;

template <class Element>
struct Format;
template <>
struct Format<float> {
  using Bits = float;
  static constexpr DLDataType type = {kDLFloat, 32, 1};
};
template <>
struct Format<double> {
  using Bits = double;
  static constexpr DLDataType type = {kDLFloat, 64, 1};
};
template <>
struct Format<Half> {
  using Bits = std::uint16_t;
  static constexpr DLDataType type = {kDLFloat, 16, 1};
};
template <>
struct Format<BFloat> {
  using Bits = std::uint16_t;
  static constexpr DLDataType type = {kDLBfloat, 16, 1};
};

template <class Element>
typename Format<Element>::Bits rounded_to(double x) {
  if constexpr (sizeof(Element) == 2) {
    return kernels::narrowed<Element>(static_cast<float>(x)).bits;
  } else {
    return static_cast<Element>(x);
  }
}

}  // namespace softcheck::emulator_tests
