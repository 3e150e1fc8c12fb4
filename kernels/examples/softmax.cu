// A kernel as a CUDA programmer would plug it in: the __global__ function is his, the glue is the extern "C" one below
// it. Tensors of a CUDA device are used where they are; those of the CPU, which the judge passes without
// --device cuda, are copied there and back. Without a device the call is refused.
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/abi/softcheck_kernel.h"

constexpr unsigned threads = 256;  // a power of two: the reduction halves

// The reduced value for every thread; the barriers keep one reduction's reads apart from the next one's writes.
template <class Reduce>
__device__ float reduced(float value, Reduce reduce) {
  __shared__ float partial[threads];
  partial[threadIdx.x] = value;
  __syncthreads();
  for (unsigned width = threads / 2; width > 0; width /= 2) {
    if (threadIdx.x < width) partial[threadIdx.x] = reduce(partial[threadIdx.x], partial[threadIdx.x + width]);
    __syncthreads();
  }
  value = partial[0];
  __syncthreads();
  return value;
}

// One block a row. A NaN wins every maximum (fmaxf would drop it).
__global__ void softmax(const float* x, float* p, std::int64_t n, float scale) {
  const auto larger = [](float a, float b) { return isnan(a) || a > b ? a : b; };
  const auto sum_of = [](float a, float b) { return a + b; };
  x += blockIdx.x * n;
  p += blockIdx.x * n;
  float m = -INFINITY;
  for (std::int64_t i = threadIdx.x; i < n; i += threads) m = larger(m, x[i]);
  m = reduced(m, larger);
  float sum = 0;
  for (std::int64_t i = threadIdx.x; i < n; i += threads) sum += expf((x[i] - m) * scale);
  sum = reduced(sum, sum_of);
  for (std::int64_t i = threadIdx.x; i < n; i += threads) p[i] = expf((x[i] - m) * scale) / sum;
}

static bool launch(const float* x, float* p, std::int64_t rows, std::int64_t n, float scale, cudaStream_t stream) {
  softmax<<<static_cast<unsigned>(rows), threads, 0, stream>>>(x, p, n, scale);
  return cudaGetLastError() == cudaSuccess;
}

// Device memory, returned when the function is left.
struct OnDevice {
  float* data = nullptr;
  explicit OnDevice(std::size_t bytes) { allocated = cudaMalloc(&data, bytes) == cudaSuccess; }
  ~OnDevice() { cudaFree(data); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  bool allocated = false;
};

static bool by_copies(const float* x, float* p, std::int64_t rows, std::int64_t n, float scale) {
  const std::size_t bytes = static_cast<std::size_t>(rows * n) * sizeof(float);
  const OnDevice in(bytes), out(bytes);
  return in.allocated && out.allocated && cudaMemcpy(in.data, x, bytes, cudaMemcpyHostToDevice) == cudaSuccess &&
         launch(in.data, out.data, rows, n, scale, nullptr) &&
         cudaMemcpy(p, out.data, bytes, cudaMemcpyDeviceToHost) == cudaSuccess;
}

extern "C" __attribute__((visibility("default"))) int example_softmax_cuda(const softcheck_call* call) {
  const DLTensor &in = *call->inputs[0], &out = *call->outputs[0];
  if (call->abi_version != 1 || call->n_inputs != 1 || call->n_outputs != 1) return 1;
  if (in.dtype.code != kDLFloat || in.dtype.bits != 32 || in.dtype.lanes != 1 || in.strides || out.strides) return 1;
  const std::int64_t rows = in.shape[0], n = in.shape[1];
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0 || rows > INT32_MAX) return 1;
  if (rows == 0 || n == 0) return 0;
  const auto* x = reinterpret_cast<const float*>(static_cast<const char*>(in.data) + in.byte_offset);
  auto* p = reinterpret_cast<float*>(static_cast<char*>(out.data) + out.byte_offset);
  const float scale = static_cast<float>(1 / call->theta);
  if (in.device.device_type == kDLCUDA)
    return launch(x, p, rows, n, scale, static_cast<cudaStream_t>(call->stream)) ? 0 : 1;
  return in.device.device_type == kDLCPU && by_copies(x, p, rows, n, scale) ? 0 : 1;
}
