// Sums over the lanes of many rows at once, for the files that foreach_target compiles once per instruction set:
// included inside of each, hence the toggle instead of #pragma once.
#if defined(SOFTCHECK_KERNELS_CPU_ATTENTION_LANE_SUMS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SOFTCHECK_KERNELS_CPU_ATTENTION_LANE_SUMS_INL
#undef SOFTCHECK_KERNELS_CPU_ATTENTION_LANE_SUMS_INL
#else
#define SOFTCHECK_KERNELS_CPU_ATTENTION_LANE_SUMS_INL
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>

#include "kernels/cpu/rows/exp_lanes.inl"

HWY_BEFORE_NAMESPACE();
namespace softcheck::kernels::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR

// A step adds half of a row's lanes to the other half, for the rows of x and of y in one addition.

// x and y have one row each. The sum has x's in its lower half.
template <class D, class V>
HWY_INLINE V add_halves(D d, V x, V y) {
  return hn::Add(hn::ConcatLowerLower(d, y, x), hn::ConcatUpperUpper(d, y, x));
}
// Each row has two blocks of 16 bytes. The sum has x's rows in the blocks of even numbers.
template <class D, class V>
HWY_INLINE V add_blocks(D, V x, V y) {
  return hn::Add(hn::OddEvenBlocks(hn::SwapAdjacentBlocks(y), x), hn::OddEvenBlocks(y, hn::SwapAdjacentBlocks(x)));
}
// Each row has a block of 16 bytes. The sum has x's row in the lower half of each.
template <class D, class V>
HWY_INLINE V add_half_blocks(D d, V x, V y) {
  const hn::Repartition<double, D> halves;
  const auto a = hn::BitCast(halves, x);
  const auto b = hn::BitCast(halves, y);
  return hn::Add(hn::BitCast(d, hn::InterleaveLower(halves, a, b)), hn::BitCast(d, hn::InterleaveUpper(halves, a, b)));
}
// Each row has a pair of floats. The sum has x's rows in the lanes of even numbers.
template <class D, class V>
HWY_INLINE V add_pairs(D, V x, V y) {
  return hn::Add(hn::OddEven(hn::Shuffle2301(y), x), hn::OddEven(y, hn::Shuffle2301(x)));
}

#endif

/// Lane i of the result is sum_in_halves of rows[i], for as many rows as a vector has lanes. Overwrites the vectors.
///
/// Each step pairs rows so that the last step leaves them in order.
template <class T, std::size_t lanes>
HWY_INLINE hn::Vec<Tag<T>> sums_in_halves([[maybe_unused]] Tag<T> d, hn::Vec<Tag<T>> (&rows)[lanes]) {
#if HWY_TARGET != HWY_SCALAR
  constexpr std::size_t in_block = 16 / sizeof(T);
  std::size_t count = lanes / 2;
  if constexpr (lanes > in_block) {
    for (std::size_t i = 0; i < count; ++i) {
      rows[i] = add_halves(d, rows[i], rows[i + count]);
    }
    count /= 2;
  }
  if constexpr (lanes > 2 * in_block) {
    for (std::size_t i = 0; i < count; ++i) {
      rows[i] = add_blocks(d, rows[i], rows[i + count]);
    }
    count /= 2;
  }
  for (std::size_t i = 0; i < count; ++i) {
    rows[i] = add_half_blocks(d, rows[i], rows[i + count]);
  }
  if constexpr (in_block == 4) {
    rows[0] = add_pairs(d, rows[0], rows[1]);
  }
#endif
  return rows[0];
}

/// to[i] = the sum of the lanes of row i, as sum_in_halves has it, for i < count.
///
/// sums   (lanes, lanes) for the lanes of a vector, of which count rows are read, aligned as vectors are
template <class T>
HWY_INLINE void sum_rows(Tag<T> d, const T* sums, std::size_t count, T* to) {
  constexpr std::size_t lanes = hn::MaxLanes(Tag<T>());
  hn::Vec<Tag<T>> rows[lanes];
  if (count == lanes) {
    for (std::size_t i = 0; i < lanes; ++i) {
      rows[i] = hn::Load(d, sums + i * lanes);
    }
    hn::StoreU(sums_in_halves<T>(d, rows), d, to);
    return;
  }
  for (std::size_t i = 0; i < lanes; ++i) {
    rows[i] = i < count ? hn::Load(d, sums + i * lanes) : hn::Zero(d);
  }
  alignas(64) T all[lanes];
  hn::Store(sums_in_halves<T>(d, rows), d, all);
  std::copy(all, all + count, to);
}

}  // namespace HWY_NAMESPACE
}  // namespace softcheck::kernels::cpu
HWY_AFTER_NAMESPACE();

#endif
