#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

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

/// Threads of a warp.
inline constexpr int warp_size = 32;
/// The mask of all lanes of a warp.
inline constexpr unsigned whole_warp = 0xffffffffU;

/// count elements, at most 16 bytes, that a thread moves by one instruction. Their address is a multiple of the bytes
/// of all of them.
template <class T, int count>
struct alignas(count * sizeof(T)) Vector {
  static_assert(count * sizeof(T) <= 16);
  T entry[count];
};

/// A view: size() elements of global or shared memory. Indices count elements.
///
/// load(i)             element i, 0 <= i < size()
/// aligned<n>(i)       whether the address of element i is a multiple of the bytes of n elements
/// load_vector<n>(i)   elements i to i + n - 1 in one access. The caller has made sure of aligned<n>(i) and of i + n <=
///                     size().
template <class V, class T>
concept ReadableView = requires(const V& view, std::int64_t index) {
  { view.load(index) } -> std::same_as<T>;
  { view.size() } -> std::convertible_to<std::int64_t>;
  { view.template aligned<2>(index) } -> std::same_as<bool>;
  { view.template load_vector<2>(index) } -> std::same_as<Vector<T, 2>>;
};
/// A view that a thread may also write: store(i, value), and store_vector(i, values) under the conditions of
/// load_vector.
template <class V, class T>
concept WritableView = ReadableView<V, T> && requires(const V& view, std::int64_t index, T value, Vector<T, 2> both) {
  view.store(index, value);
  view.store_vector(index, both);
};

/// The block context of one thread. The body of every kernel is a template over it. On a GPU it is CudaBlock
/// (kernels/cuda/block.cuh). On the CPU it is emulator::Block (kernels/emulator/block.hpp), which runs each thread on a
/// fiber and checks every call.
///
/// rank, size, lane, warp     this thread in its block; threads of the block; this thread in its warp; its warp
/// index, count               this block in its grid; blocks of the grid
/// sync                       the barrier of the block: every thread calls it. It orders memory.
/// sync_warp(mask)            the barrier of a warp: every lane of mask calls it. It orders memory.
/// shuffle(mask, x, k)        the x of lane k % 32. A shuffle takes any trivially copyable type and orders no memory.
/// shuffle_xor, _down, _up    the x of lane ^ k, lane + k, lane - k; the thread's own where the warp has no such lane
/// ballot, any, all           votes of the lanes of mask. Every lane of mask calls them, as it does the shuffles.
/// shared<T>(n)               the next n elements of the launch's shared memory. Every thread of the block asks for
///                            the same n in the same order, and so gets the same elements.
/// Global<T>                  a view of global memory: the launcher passes such views as arguments
/// atomic_add(view, i, x)     adds a float, int or unsigned in either memory, and returns the value before
/// mma(a, b, c)               a b + c of FragmentA, FragmentB and FragmentC. All lanes of a warp call it.
/// load_matrices<t>(view, i)  four 8 x 8 matrices of 16-bit elements from shared memory. All lanes of a warp call it.
///                            Lane l passes the index of the first element of row l % 8 of matrix l / 8, aligned to
///                            16 bytes. Each lane gets its MatrixParts; where t, those of the transposed matrices.
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
