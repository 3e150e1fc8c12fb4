#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "kernels/abi/softcheck_kernel.h"

namespace softcheck::kernels {

/// A host's tensor copied to the device, at an address that is aligned as the host's is, and back.
class StagedTensor {
 public:
  StagedTensor() = default;
  StagedTensor(const StagedTensor&) = delete;
  StagedTensor& operator=(const StagedTensor&) = delete;
  ~StagedTensor() {
    if (memory_ != nullptr) cudaFree(memory_);
  }

  bool empty() const { return bytes_ == 0; }
  bool same_place(const StagedTensor& other) const { return host_ == other.host_ && bytes_ == other.bytes_; }

  /// False if there is no device, or no memory on it, or a stride that no kernel takes.
  bool stage(const DLTensor& tensor) {
    std::int64_t last = 0, compact = 1;
    for (int d = tensor.ndim; d-- > 0;) {
      if (tensor.shape[d] <= 0) return tensor.shape[d] == 0;
      const std::int64_t stride = tensor.strides == nullptr ? compact : tensor.strides[d];
      if (stride < 0) return false;
      last += (tensor.shape[d] - 1) * stride;
      compact *= tensor.shape[d];
    }
    if (tensor.data == nullptr) return false;
    host_ = static_cast<unsigned char*>(tensor.data) + tensor.byte_offset;
    bytes_ = static_cast<std::size_t>(last + 1) * (tensor.dtype.bits / 8U);
    // What cudaMalloc returns is aligned to more than this.
    constexpr std::size_t alignment = 64;
    const std::size_t offset = reinterpret_cast<std::uintptr_t>(host_) % alignment;
    if (cudaMalloc(&memory_, bytes_ + alignment) != cudaSuccess) return false;
    device_ = static_cast<unsigned char*>(memory_) + offset;
    return cudaMemcpy(device_, host_, bytes_, cudaMemcpyHostToDevice) == cudaSuccess;
  }
  bool copy_back() const {
    return empty() || cudaMemcpy(host_, device_, bytes_, cudaMemcpyDeviceToHost) == cudaSuccess;
  }
  void* device() const { return device_; }

 private:
  void* memory_ = nullptr;
  unsigned char* device_ = nullptr;
  unsigned char* host_ = nullptr;
  std::size_t bytes_ = 0;
};

/// A call whose tensors look like CPU tensors to the code that reads calls on the host, which reads no data. Tensors of
/// a CUDA device are used in place; tensors of the CPU, which the judge passes by default, are copied to the device and
/// back. False if tensors are elsewhere or of both kinds, if there are more than any op has, or if there is no device.
class DeviceCall {
 public:
  explicit DeviceCall(const softcheck_call* call) {
    if (call == nullptr) return;
    const softcheck_call_2* second = softcheck_version_2(call);
    if ((second == nullptr && call->abi_version != SOFTCHECK_KERNEL_ABI_VERSION) || call->n_inputs == 0) return;
    if (call->n_inputs > most || call->n_outputs > most) return;
    staged_ = call->inputs[0]->device.device_type == kDLCPU;
    for (std::size_t i = 0; i < call->n_inputs; ++i) {
      if (!show(*call->inputs[i], i)) return;
      inputs_[i] = &tensors_[i];
    }
    for (std::size_t i = 0; i < call->n_outputs; ++i) {
      if (!show(*call->outputs[i], most + i)) return;
      outputs_[i] = &tensors_[most + i];
    }
    device_call_ = second != nullptr ? *second : softcheck_call_2{*call, 0, nullptr, nullptr};
    device_call_.call.inputs = inputs_.data();
    device_call_.call.outputs = outputs_.data();
    valid_ = true;
  }
  DeviceCall(const DeviceCall&) = delete;
  DeviceCall& operator=(const DeviceCall&) = delete;

  explicit operator bool() const { return valid_; }
  /// Whether its tensors are the host's, which can be read there.
  bool staged() const { return staged_; }
  /// Of version 2 the first member of a softcheck_call_2.
  const softcheck_call& call() const { return device_call_.call; }
  cudaStream_t stream() const { return static_cast<cudaStream_t>(device_call_.call.stream); }

  /// The call's return value, after the copies back, if there are any. A kernel that failed on the device is no
  /// refusal: it ends the process.
  int finished(int status) const {
    if (status != 0) cudaGetLastError();  // clears the error, or the next call would see it
    if (!staged_ || status != 0) return status;
    bool copied = cudaStreamSynchronize(stream()) == cudaSuccess;
    for (std::size_t i = 0; i < device_call_.call.n_outputs; ++i)
      copied = copied && staging_[owners_[most + i]].copy_back();
    if (copied) return 0;
    std::fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(cudaGetLastError()));
    std::abort();
  }

 private:
  static constexpr std::size_t most = 6;  // inputs, and outputs

  bool show(const DLTensor& tensor, std::size_t place) {
    DLTensor& shown = tensors_[place];
    shown = tensor;
    shown.device.device_type = kDLCPU;
    if (!staged_) return tensor.device.device_type == kDLCUDA;
    if (tensor.device.device_type != kDLCPU || !staging_[place].stage(tensor)) return false;
    owners_[place] = place;
    // An output that is an input in place stays in that memory.
    for (std::size_t i = 0; i < most && place >= most; ++i) {
      if (!staging_[place].empty() && staging_[i].same_place(staging_[place])) owners_[place] = i;
    }
    if (staging_[place].empty()) return true;
    shown.data = staging_[owners_[place]].device();
    shown.byte_offset = 0;
    return true;
  }

  std::array<DLTensor, 2 * most> tensors_;
  std::array<StagedTensor, 2 * most> staging_;
  std::array<std::size_t, 2 * most> owners_{};
  std::array<const DLTensor*, most> inputs_;
  std::array<DLTensor*, most> outputs_;
  softcheck_call_2 device_call_{};
  bool staged_ = false;
  bool valid_ = false;
};

/// run(shown) with the call's tensors on the device, and the results back.
template <class Run>
int on_device(const softcheck_call* call, Run run) {
  const DeviceCall shown(call);
  return shown.finished(shown ? run(shown) : 1);
}

}  // namespace softcheck::kernels
