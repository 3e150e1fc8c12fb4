#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/block/context.hpp"
#include "kernels/emulator/source_line.hpp"

namespace softcheck::kernels::emulator {

/// The calls of a BlockContext that all lanes of a mask make together.
enum class WarpCall { sync, shuffle, shuffle_xor, shuffle_down, shuffle_up, ballot, any, all, mma, load_matrices };

const char* to_string(WarpCall call);

/// One lane's part of such a call. The lane keeps in and out valid until all lanes of the mask have made the call.
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

/// The lane whose value a shuffle gives to lane: argument % 32 for shuffle; else lane ^ argument, lane + argument or
/// lane - argument, or lane itself if the warp has no such lane.
int source_lane(const WarpOperation& operation, int lane);

/// D = A B + C for a warp, A (16, 16), B (16, 8), C and D (16, 8). Each element is the sum of exact products, added in
/// double and rounded once to f32. A tensor core adds in an order and with a truncation that NVIDIA does not document:
/// its last bits may differ.
void multiply_fragments(const MmaOperands* const (&lanes)[32], FragmentC* const (&results)[32]);

/// One row of an 8 x 8 matrix of 16-bit elements, as bits.
using MatrixRow = Vector<std::uint16_t, 8>;

/// Deals four 8 x 8 matrices to a warp: rows[l] is row l % 8 of matrix l / 8, and parts[l] gets the entries of lane l's
/// MatrixParts, or those of the transposed matrices.
void share_matrices(const MatrixRow* const (&rows)[32], bool transposed, MatrixRow* const (&parts)[32]);

}  // namespace softcheck::kernels::emulator
