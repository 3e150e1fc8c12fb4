#include <cuda_runtime.h>

#include <algorithm>
#include <stdexcept>

#include "kernels/bench/gpu/device.hpp"

namespace softcheck::kernels::gpu {
namespace {

void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error));
}

struct Event {
  Event() { check(cudaEventCreate(&event), "cudaEventCreate"); }
  ~Event() { cudaEventDestroy(event); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  cudaEvent_t event = nullptr;
};

double seconds_of(const std::function<void()>& work, const Event& begin, const Event& end) {
  check(cudaEventRecord(begin.event), "cudaEventRecord");
  work();
  check(cudaEventRecord(end.event), "cudaEventRecord");
  check(cudaEventSynchronize(end.event), "a kernel");
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, begin.event, end.event), "cudaEventElapsedTime");
  return 1e-3 * static_cast<double>(milliseconds);
}

constexpr unsigned threads = 256, blocks_of_multiprocessor = 8;

__global__ void copy(const uint4* __restrict__ from, uint4* __restrict__ to, std::size_t count) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) to[i] = from[i];
}

// Writes the result only if it has an impossible value, so that the compiler cannot remove any read.
__global__ void read(const uint4* __restrict__ from, unsigned* to, std::size_t count) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  unsigned all = 0;
#pragma unroll 4
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    const uint4 x = from[i];
    all |= x.x | x.y | x.z | x.w;
  }
  if (all == 0x12345678U) *to = all;
}

unsigned whole_device() {
  int count = 0;
  check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0), "cudaDeviceGetAttribute");
  return static_cast<unsigned>(count) * blocks_of_multiprocessor;
}

}  // namespace

Device find_device() {
  Device device;
  int count = 0;
  cudaDriverGetVersion(&device.driver);
  cudaRuntimeGetVersion(&device.runtime);
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess || count == 0) {
    device.missing = device.driver == 0     ? "no NVIDIA driver"
                     : error == cudaSuccess ? "no CUDA device"
                                            : std::string("no CUDA device: ") + cudaGetErrorString(error);
    return device;
  }
  cudaDeviceProp properties{};
  check(cudaSetDevice(0), "cudaSetDevice");
  check(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
  device.name = properties.name;
  device.architecture = "sm_" + std::to_string(properties.major) + std::to_string(properties.minor);
  device.multiprocessors = properties.multiProcessorCount;
  device.memory = properties.totalGlobalMem;
  // Does a kernel of this program run on it at all?
  read<<<1, 1>>>(nullptr, nullptr, 0);
  if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) {
    device.missing =
        device.name + ", " + device.architecture + ", runs no kernel of this program: " + cudaGetErrorString(error);
  }
  return device;
}

DeviceMemory::DeviceMemory(std::size_t bytes) : bytes_(bytes) {
  check(cudaMalloc(&data_, std::max<std::size_t>(bytes, 1)), "cudaMalloc");
}

DeviceMemory::~DeviceMemory() {
  if (data_ != nullptr) cudaFree(data_);
}

void DeviceMemory::fill(const std::vector<std::byte>& pattern) const {
  for (std::size_t begin = 0; begin < bytes_; begin += pattern.size()) {
    check(cudaMemcpy(static_cast<std::byte*>(data_) + begin, pattern.data(), std::min(pattern.size(), bytes_ - begin),
                     cudaMemcpyHostToDevice),
          "cudaMemcpy");
  }
}

std::vector<std::byte> DeviceMemory::read() const {
  std::vector<std::byte> all(bytes_);
  check(cudaMemcpy(all.data(), data_, bytes_, cudaMemcpyDeviceToHost), "cudaMemcpy");
  return all;
}

std::vector<std::vector<double>> interleaved_seconds(const std::vector<std::function<void()>>& works, int rounds) {
  const Event begin, end;
  std::vector<std::vector<double>> seconds(works.size());
  for (int round = 0; round <= rounds; ++round) {
    for (std::size_t i = 0; i < works.size(); ++i) {
      const double one = seconds_of(works[i], begin, end);
      if (round > 0) seconds[i].push_back(one);
    }
  }
  return seconds;
}

void copy_memory(const DeviceMemory& from, const DeviceMemory& to, std::size_t bytes) {
  copy<<<whole_device(), threads>>>(static_cast<const uint4*>(from.data()), static_cast<uint4*>(to.data()),
                                    bytes / sizeof(uint4));
  check(cudaGetLastError(), "copy");
}

void read_memory(const DeviceMemory& from, const DeviceMemory& result, std::size_t bytes) {
  read<<<whole_device(), threads>>>(static_cast<const uint4*>(from.data()), static_cast<unsigned*>(result.data()),
                                    bytes / sizeof(uint4));
  check(cudaGetLastError(), "read");
}

}  // namespace softcheck::kernels::gpu
