#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cstddef>

#include "kernels/abi/softcheck_kernel.h"

namespace softcheck::kernels {

/// A call whose tensors are all on a CUDA device, shown as if they were the CPU's: what reads calls on the host knows
/// those, and reads no data. False where a tensor is elsewhere or there are more than any op has.
class DeviceCall {
 public:
  explicit DeviceCall(const softcheck_call* call) {
    if (call == nullptr || call->abi_version != SOFTCHECK_KERNEL_ABI_VERSION) return;
    if (call->n_inputs > inputs_.size() || call->n_outputs > outputs_.size()) return;
    for (std::size_t i = 0; i < call->n_inputs; ++i) {
      if (!show(*call->inputs[i], input_tensors_[i])) return;
      inputs_[i] = &input_tensors_[i];
    }
    for (std::size_t i = 0; i < call->n_outputs; ++i) {
      if (!show(*call->outputs[i], output_tensors_[i])) return;
      outputs_[i] = &output_tensors_[i];
    }
    shown_ = *call;
    shown_.inputs = inputs_.data();
    shown_.outputs = outputs_.data();
    valid_ = true;
  }
  DeviceCall(const DeviceCall&) = delete;
  DeviceCall& operator=(const DeviceCall&) = delete;

  explicit operator bool() const { return valid_; }
  const softcheck_call& call() const { return shown_; }
  cudaStream_t stream() const { return static_cast<cudaStream_t>(shown_.stream); }

 private:
  static bool show(const DLTensor& tensor, DLTensor& shown) {
    shown = tensor;
    shown.device.device_type = kDLCPU;
    return tensor.device.device_type == kDLCUDA;
  }

  std::array<DLTensor, 5> input_tensors_, output_tensors_;
  std::array<const DLTensor*, 5> inputs_;
  std::array<DLTensor*, 5> outputs_;
  softcheck_call shown_{};
  bool valid_ = false;
};

}  // namespace softcheck::kernels
