#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>

// As much of the CUDA runtime as kernels/cuda/device_call.cuh needs, on the host: a device whose memory is the heap.
using cudaStream_t = void*;
enum cudaError_t { cudaSuccess = 0, cudaErrorMemoryAllocation = 2 };
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2 };

namespace softcheck::no_device {

inline int allocations_left = 1000;  // until one fails
inline int allocated = 0;            // and not yet freed
inline cudaError_t last_error = cudaSuccess;

}  // namespace softcheck::no_device

inline cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  using namespace softcheck::no_device;
  if (allocations_left-- <= 0) return last_error = cudaErrorMemoryAllocation;
  *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  std::memset(*memory, 0x5a, bytes);
  ++allocated;
  return cudaSuccess;
}
inline cudaError_t cudaFree(void* memory) {
  std::free(memory);
  --softcheck::no_device::allocated;
  return cudaSuccess;
}
inline cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind /*kind*/) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaStreamSynchronize(cudaStream_t /*stream*/) { return cudaSuccess; }
inline cudaError_t cudaGetLastError() {
  const cudaError_t error = softcheck::no_device::last_error;
  softcheck::no_device::last_error = cudaSuccess;
  return error;
}
inline const char* cudaGetErrorString(cudaError_t /*error*/) { return "no device"; }
