#pragma once

#include "kernels/block/formats.hpp"

namespace softcheck::kernels {

/// count entries of a fragment, elements of 16 bits. As in the hardware's registers a word holds two of them, the first
/// in its lower half.
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

/// One lane's part of A (16, 16) in D = A B + C, B (16, 8), C and D (16, 8): mma.sync.aligned.m16n8k16.row.col.f32 of
/// f16 or bf16. place_in_a, place_in_b and place_in_c say which element of the matrix an entry is, after the PTX ISA,
/// "Matrix Fragments for mma.m16n8k16 with floating point type".
template <class Element>
struct FragmentA : Entries<Element, 8> {};
/// One lane's part of B.
template <class Element>
struct FragmentB : Entries<Element, 4> {};
/// One lane's part of C or of D, in f32.
struct FragmentC {
  float entry[4];
};

/// One lane's part of four 8 x 8 matrices, as ldmatrix.sync.aligned.m8n8.x4.shared.b16 loads them: entries 2 m and 2 m
/// + 1 are those of matrix m at row lane / 4, columns 2 (lane % 4) and 2 (lane % 4) + 1.
template <class Element>
struct MatrixParts : Entries<Element, 8> {};

/// A place in a matrix of mma.
struct MatrixPlace {
  int row;
  int column;
};

/// Which element of A the entry of a lane's FragmentA is.
SOFTCHECK_BODY constexpr MatrixPlace place_in_a(int lane, int entry) {
  return {lane / 4 + 8 * (entry / 2 % 2), lane % 4 * 2 + entry % 2 + 8 * (entry / 4)};
}
/// Of B.
SOFTCHECK_BODY constexpr MatrixPlace place_in_b(int lane, int entry) {
  return {lane % 4 * 2 + entry % 2 + 8 * (entry / 2), lane / 4};
}
/// Of C and D. Entries 0 and 1 are in row lane / 4, entries 2 and 3 eight rows below.
SOFTCHECK_BODY constexpr MatrixPlace place_in_c(int lane, int entry) {
  return {lane / 4 + 8 * (entry / 2), lane % 4 * 2 + entry % 2};
}

}  // namespace softcheck::kernels
