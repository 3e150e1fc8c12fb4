#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

// A kernel's body is compiled twice: by nvcc for the GPU and by the host's compiler for the fibers. CUDA leaves no
// other way than a macro to say so.
// Before a loop over what each thread holds in an array: unrolled, the array is registers; else it is local memory. And
// before one that is seldom run, whose copies would only take registers from others.
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

/// x y + z, rounded once: written where it is wanted, as both compilers are told to contract nothing. So the bits are
/// the same on both machines.
SOFTCHECK_BODY float fused(float x, float y, float z) { return fmaf(x, y, z); }
SOFTCHECK_BODY double fused(double x, double y, double z) { return fma(x, y, z); }

template <class T>
SOFTCHECK_BODY constexpr T minus_infinity() {
  return -std::numeric_limits<T>::infinity();
}

template <class T>
SOFTCHECK_BODY constexpr T not_a_number() {
  return std::numeric_limits<T>::quiet_NaN();
}

}  // namespace softcheck::kernels
