#pragma once

#include "kernels/block/formats.hpp"

namespace softcheck::kernels {

/// Entries of a fragment: 16-bit elements, two to a word as the hardware has them, the first in its lower half.
template <class Element, int count>
struct Entries {
  static_assert(sizeof(Element) == 2);
  std::uint32_t word[count / 2] = {};

  SOFTCHECK_BODY Element get(int i) const { return {static_cast<std::uint16_t>(word[i / 2] >> (16 * (i % 2)))}; }
  SOFTCHECK_BODY void set(int i, Element value) {
    const int shift = 16 * (i % 2);
    word[i / 2] = (word[i / 2] & ~(0xffffU << shift)) | static_cast<std::uint32_t>(value.bits) << shift;
  }
};

/// One lane's part of D = A B + C, A (16, 16), B (16, 8), C and D (16, 8): mma.sync.aligned.m16n8k16.row.col.f32 of f16
/// or bf16. Which element of the matrix an entry is: the functions below, after the PTX ISA, "Matrix Fragments for
/// mma.m16n8k16 with floating point type".
template <class Element>
struct FragmentA : Entries<Element, 8> {};
template <class Element>
struct FragmentB : Entries<Element, 4> {};
struct FragmentC {
  float entry[4];
};

/// What a lane gets of four 8 x 8 matrices (ldmatrix.sync.aligned.m8n8.x4.shared.b16): entries 2 m and 2 m + 1 are of
/// matrix m, at (lane / 4, 2 (lane % 4)) and beside it.
template <class Element>
struct MatrixParts : Entries<Element, 8> {};

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
