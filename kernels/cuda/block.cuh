#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/block/context.hpp"

namespace softcheck::kernels {

/// Elements in global or in shared memory of a GPU: size() of them, unchecked.
template <class T>
class CudaView {
 public:
  using Value = std::remove_const_t<T>;

  CudaView() = default;
  __host__ __device__ CudaView(T* data, std::int64_t count) : data_(data), count_(count) {}

  __device__ __forceinline__ std::int64_t size() const { return count_; }
  __device__ __forceinline__ Value load(std::int64_t index) const { return data_[index]; }
  __device__ __forceinline__ void store(std::int64_t index, Value value) const requires(!std::is_const_v<T>) {
    data_[index] = value;
  }
  template <int n>
  __device__ __forceinline__ bool aligned(std::int64_t index) const {
    return reinterpret_cast<std::uintptr_t>(data_ + index) % sizeof(Vector<Value, n>) == 0;
  }
  template <int n>
  __device__ __forceinline__ Vector<Value, n> load_vector(std::int64_t index) const {
    return std::bit_cast<Vector<Value, n>>(*reinterpret_cast<const Words<n>*>(data_ + index));
  }
  template <int n>
  __device__ __forceinline__ void store_vector(std::int64_t index, const Vector<Value, n>& values) const
      requires(!std::is_const_v<T>) {
    *reinterpret_cast<Words<n>*>(data_ + index) = std::bit_cast<Words<n>>(values);
  }
  __device__ __forceinline__ T* data() const { return data_; }

 private:
  // Loads and stores move words: otherwise 16-bit elements would move one by one.
  template <int n>
  using Words = Vector<std::uint32_t, n * sizeof(T) / 4>;

  T* data_ = nullptr;
  std::int64_t count_ = 0;
};

/// A thread of a block of that many threads on a GPU. What the calls mean: BlockContext.
template <int threads>
class CudaBlock {
 public:
  template <class T>
  using Shared = CudaView<T>;
  template <class T>
  using Global = CudaView<T>;

  __device__ __forceinline__ int rank() const { return static_cast<int>(threadIdx.x); }
  __device__ __forceinline__ int size() const { return threads; }
  __device__ __forceinline__ int lane() const { return rank() % warp_size; }
  __device__ __forceinline__ int warp() const { return rank() / warp_size; }
  __device__ __forceinline__ std::int64_t index() const { return blockIdx.x; }
  __device__ __forceinline__ std::int64_t count() const { return gridDim.x; }

  __device__ __forceinline__ void sync() { __syncthreads(); }
  __device__ __forceinline__ void sync_warp(unsigned mask) { __syncwarp(mask); }

  template <class T>
  __device__ __forceinline__ T shuffle(unsigned mask, T value, int lane) {
    return by_words(value, [&](unsigned word) { return __shfl_sync(mask, word, lane); });
  }
  template <class T>
  __device__ __forceinline__ T shuffle_xor(unsigned mask, T value, int lanes) {
    return by_words(value, [&](unsigned word) { return __shfl_xor_sync(mask, word, lanes); });
  }
  template <class T>
  __device__ __forceinline__ T shuffle_down(unsigned mask, T value, int distance) {
    return by_words(value, [&](unsigned word) { return __shfl_down_sync(mask, word, distance); });
  }
  template <class T>
  __device__ __forceinline__ T shuffle_up(unsigned mask, T value, int distance) {
    return by_words(value, [&](unsigned word) { return __shfl_up_sync(mask, word, distance); });
  }

  __device__ __forceinline__ unsigned ballot(unsigned mask, bool vote) { return __ballot_sync(mask, vote); }
  __device__ __forceinline__ bool any(unsigned mask, bool vote) { return __any_sync(mask, vote) != 0; }
  __device__ __forceinline__ bool all(unsigned mask, bool vote) { return __all_sync(mask, vote) != 0; }

  template <class T>
  __device__ __forceinline__ Shared<T> shared(std::int64_t count) {
    extern __shared__ __align__(16) unsigned char memory[];
    static_assert(alignof(T) <= 16);
    const std::size_t begin = (shared_used_ + alignof(T) - 1) / alignof(T) * alignof(T);
    shared_used_ = begin + static_cast<std::size_t>(count) * sizeof(T);
    return {reinterpret_cast<T*>(memory + begin), count};
  }

  template <class T>
  __device__ __forceinline__ T atomic_add(const CudaView<T>& view, std::int64_t index, T value) {
    return atomicAdd(view.data() + index, value);
  }

  template <class Element>
  __device__ __forceinline__ FragmentC mma(const FragmentA<Element>& a, const FragmentB<Element>& b,
                                           const FragmentC& c) {
    const auto& x = a.word;
    const auto& y = b.word;
    FragmentC d;
    if constexpr (std::is_same_v<Element, Half>) {
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"
          : "=f"(d.entry[0]), "=f"(d.entry[1]), "=f"(d.entry[2]), "=f"(d.entry[3])
          : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]), "f"(c.entry[0]), "f"(c.entry[1]),
            "f"(c.entry[2]), "f"(c.entry[3]));
    } else {
      static_assert(std::is_same_v<Element, BFloat>);
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
          "{%10,%11,%12,%13};"
          : "=f"(d.entry[0]), "=f"(d.entry[1]), "=f"(d.entry[2]), "=f"(d.entry[3])
          : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]), "f"(c.entry[0]), "f"(c.entry[1]),
            "f"(c.entry[2]), "f"(c.entry[3]));
    }
    return d;
  }

  template <bool transposed, class Element>
  __device__ __forceinline__ MatrixParts<Element> load_matrices(const CudaView<Element>& view, std::int64_t index) {
    static_assert(sizeof(Element) == 2);
    // In 32 bits, so that constants of the index go into the instruction.
    const unsigned row = static_cast<unsigned>(__cvta_generic_to_shared(view.data())) +
                         static_cast<unsigned>(index) * static_cast<unsigned>(sizeof(Element));
    MatrixParts<Element> parts;
    auto& words = parts.word;
    if constexpr (transposed) {
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                   : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                   : "r"(row)
                   : "memory");
    } else {
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                   : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                   : "r"(row)
                   : "memory");
    }
    return parts;
  }

 private:
  // A value moves between lanes as 32-bit words.
  template <class T, class Move>
  static __device__ __forceinline__ T by_words(const T& value, Move move) {
    static_assert(std::is_trivially_copyable_v<T>);
    constexpr std::size_t count = (sizeof(T) + 3) / 4;
    unsigned words[count] = {};
    memcpy(words, &value, sizeof(T));
#pragma unroll
    for (std::size_t i = 0; i < count; ++i) words[i] = move(words[i]);
    T moved;
    memcpy(&moved, words, sizeof(T));
    return moved;
  }

  std::size_t shared_used_ = 0;
};

static_assert(BlockContext<CudaBlock<128>>);

}  // namespace softcheck::kernels
