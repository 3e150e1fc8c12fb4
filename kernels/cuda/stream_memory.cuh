#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/cuda/block.cuh"

namespace softcheck::kernels {

/// Memory allocated on the stream: work that is queued during the object's lifetime may use it.
template <class T>
struct StreamMemory {
  T* data = nullptr;
  std::int64_t count;
  cudaStream_t stream;

  StreamMemory(std::int64_t elements, cudaStream_t queue) : count(elements), stream(queue) {
    const std::size_t bytes = static_cast<std::size_t>(std::max<std::int64_t>(elements, 1)) * sizeof(T);
    if (cudaMallocAsync(reinterpret_cast<void**>(&data), bytes, stream) != cudaSuccess) data = nullptr;
  }
  StreamMemory(const StreamMemory&) = delete;
  StreamMemory& operator=(const StreamMemory&) = delete;
  ~StreamMemory() {
    if (data != nullptr) cudaFreeAsync(data, stream);
  }
  CudaView<T> view() const { return {data, count}; }
};

}  // namespace softcheck::kernels
