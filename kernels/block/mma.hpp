#pragma once

#include "kernels/block/formats.hpp"

namespace softcheck::kernels {

/// One lane's part of D = A B + C, A (16, 16), B (16, 8), C and D (16, 8): mma.sync.aligned.m16n8k16.row.col.f32 of f16
/// or bf16. Which element of the matrix an entry is: the functions below, after the PTX ISA, "Matrix Fragments for
/// mma.m16n8k16 with floating point type".
template <class Element>
struct FragmentA {
  Element entry[8];
};
template <class Element>
struct FragmentB {
  Element entry[4];
};
struct FragmentC {
  float entry[4];
};

struct MatrixPlace {
  int row;
  int column;
};

SOFTCHECK_BODY constexpr MatrixPlace place_in_a(int lane, int entry) {
  return {lane / 4 + 8 * (entry / 2 % 2), lane % 4 * 2 + entry % 2 + 8 * (entry / 4)};
}
SOFTCHECK_BODY constexpr MatrixPlace place_in_b(int lane, int entry) {
  return {lane % 4 * 2 + entry % 2 + 8 * (entry / 2), lane / 4};
}
SOFTCHECK_BODY constexpr MatrixPlace place_in_c(int lane, int entry) {
  return {lane / 4 + 8 * (entry / 2), lane % 4 * 2 + entry % 2};
}

}  // namespace softcheck::kernels
