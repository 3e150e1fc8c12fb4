#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "kernels/block/mma.hpp"

namespace softcheck::kernels {

inline constexpr int warp_size = 32;
inline constexpr unsigned whole_warp = 0xffffffffU;

/// count elements that one instruction moves, at an address that is a multiple of their size.
template <class T, int count>
struct alignas(count * sizeof(T)) Vector {
  static_assert(count * sizeof(T) <= 16);
  T entry[count];
};

/// What a view of memory can do; indices count elements. load_vector<n> and store_vector want an index at which
/// aligned<n> holds, and n elements there.
template <class V, class T>
concept ReadableView = requires(const V& view, std::int64_t index) {
  { view.load(index) } -> std::same_as<T>;
  { view.size() } -> std::convertible_to<std::int64_t>;
  { view.template aligned<2>(index) } -> std::same_as<bool>;
  { view.template load_vector<2>(index) } -> std::same_as<Vector<T, 2>>;
};
template <class V, class T>
concept WritableView = ReadableView<V, T> && requires(const V& view, std::int64_t index, T value, Vector<T, 2> both) {
  view.store(index, value);
  view.store_vector(index, both);
};

/// One thread's sight of its block: what the body of a kernel is a template over. CudaBlock runs it on a GPU
/// (kernels/cuda/block.cuh), emulator::Block on fibers (kernels/emulator/block.hpp), which checks every call.
///
///   rank, size, lane, warp     this thread in its block; the block's threads; this thread in its warp; its warp
///   index, count               this block in its grid; the grid's blocks
///   sync, sync_warp(mask)      barriers; they order memory
///   shuffle...(mask, value, k) another lane's value: lane k, lane ^ k, lane + k, lane - k; where that is none of the
///                              warp's, the own. Any trivially copyable type. They order no memory.
///   ballot, any, all           votes of the lanes in mask
///   shared<T>(n)               the next n elements of the launch's shared memory: every thread asks in the same order
///   Global<T>                  a kernel's arguments are such views
///   atomic_add(view, i, x)     of float, int or unsigned, in either memory; returns what was there
///   mma(a, b, c)               a b + c, by the whole warp: FragmentA, FragmentB, FragmentC
///   load_matrices<t>(view, i)  four 8 x 8 matrices of 16-bit elements out of shared memory, by the whole warp: lane l
///                              names the first element of row l % 8 of matrix l / 8, aligned to 16 bytes; what each
///                              lane gets: MatrixParts, t: of the matrices transposed
template <class B>
concept BlockContext = requires(B& block, unsigned mask, float value, int k, bool vote, std::int64_t n,
                                FragmentA<Half> a, FragmentB<Half> b, FragmentC c,
                                typename B::template Shared<float> shared, typename B::template Shared<Half> tile,
                                typename B::template Global<const float> in, typename B::template Global<float> out) {
  { block.rank() } -> std::same_as<int>;
  { block.size() } -> std::same_as<int>;
  { block.lane() } -> std::same_as<int>;
  { block.warp() } -> std::same_as<int>;
  { block.index() } -> std::same_as<std::int64_t>;
  { block.count() } -> std::same_as<std::int64_t>;
  block.sync();
  block.sync_warp(mask);
  { block.shuffle(mask, value, k) } -> std::same_as<float>;
  { block.shuffle_xor(mask, value, k) } -> std::same_as<float>;
  { block.shuffle_down(mask, value, k) } -> std::same_as<float>;
  { block.shuffle_up(mask, value, k) } -> std::same_as<float>;
  { block.ballot(mask, vote) } -> std::same_as<unsigned>;
  { block.any(mask, vote) } -> std::same_as<bool>;
  { block.all(mask, vote) } -> std::same_as<bool>;
  { block.template shared<float>(n) } -> WritableView<float>;
  { block.atomic_add(shared, n, value) } -> std::same_as<float>;
  { block.atomic_add(out, n, value) } -> std::same_as<float>;
  { block.mma(a, b, c) } -> std::same_as<FragmentC>;
  { block.template load_matrices<true>(tile, n) } -> std::same_as<MatrixParts<Half>>;
}
&&WritableView<typename B::template Shared<float>, float>&& ReadableView<
    typename B::template Global<const float>, float>&& WritableView<typename B::template Global<float>, float>;

}  // namespace softcheck::kernels
