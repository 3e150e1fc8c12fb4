#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

// A kernel's body is compiled twice: by nvcc for the GPU, and by the host's compiler for the emulator's fibers. CUDA
// marks a device function by a keyword, so these have to be macros.
//
// SOFTCHECK_BODY    before every function of a body
// SOFTCHECK_UNROLL  before a loop over an array that each thread holds. Unrolled, the array is in registers; otherwise
//                   it would be in local memory.
// SOFTCHECK_ROLL    before a loop that rarely runs. Unrolled, its copies would take registers from the rest.
#ifdef __CUDACC__
#define SOFTCHECK_BODY __device__ __forceinline__
#define SOFTCHECK_UNROLL _Pragma("unroll")
#define SOFTCHECK_ROLL _Pragma("unroll 1")
#else
#define SOFTCHECK_BODY inline
#define SOFTCHECK_UNROLL
#define SOFTCHECK_ROLL
#endif

namespace softcheck::kernels {

/// x y + z, rounded once. A body calls it wherever it wants an fma; neither compiler may contract a product and a sum
/// (-ffp-contract=off, nvcc's -fmad=false). The bits are therefore the same on both machines.
SOFTCHECK_BODY float fused(float x, float y, float z) { return fmaf(x, y, z); }
SOFTCHECK_BODY double fused(double x, double y, double z) { return fma(x, y, z); }

/// -inf: the score of a hidden item, and the maximum of no items.
template <class T>
SOFTCHECK_BODY constexpr T minus_infinity() {
  return -std::numeric_limits<T>::infinity();
}

/// A quiet NaN. No kernel promises its payload.
template <class T>
SOFTCHECK_BODY constexpr T not_a_number() {
  return std::numeric_limits<T>::quiet_NaN();
}

}  // namespace softcheck::kernels
