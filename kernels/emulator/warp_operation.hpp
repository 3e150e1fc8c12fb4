#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/block/context.hpp"
#include "kernels/emulator/source_line.hpp"

namespace softcheck::kernels::emulator {

/// What all lanes of a mask do together.
enum class WarpCall { sync, shuffle, shuffle_xor, shuffle_down, shuffle_up, ballot, any, all, mma, load_matrices };

const char* to_string(WarpCall call);

/// One lane's part of it. in and out stay valid until all lanes have come.
struct WarpOperation {
  WarpCall call = WarpCall::sync;
  unsigned mask = 0;
  SourceLine where;
  const void* in = nullptr;
  void* out = nullptr;
  std::size_t size = 0;  // of a shuffled value
  int argument = 0;      // of a shuffle: the lane, the distance; of load_matrices: 1 for the transposed ones
};

/// Operands of one lane's mma, widened to f32, which holds every f16 and bf16.
struct MmaOperands {
  float a[8];
  float b[4];
  FragmentC c;
};

/// The lane whose value a shuffle takes; lane itself where there is none.
int source_lane(const WarpOperation& operation, int lane);

/// D = A B + C for a warp: each element from exact products, added in double, rounded once to f32. A tensor core adds
/// in an order and with a truncation that NVIDIA does not document: its last bits may differ.
void multiply_fragments(const MmaOperands* const (&lanes)[32], FragmentC* const (&results)[32]);

/// Eight elements of a matrix of 16-bit ones, as bits.
using MatrixRow = Vector<std::uint16_t, 8>;

/// Row l % 8 of matrix l / 8 from lane l, to each lane the entries of its MatrixParts.
void share_matrices(const MatrixRow* const (&rows)[32], bool transposed, MatrixRow* const (&parts)[32]);

}  // namespace softcheck::kernels::emulator
