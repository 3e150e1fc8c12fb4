#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <type_traits>

#include "kernels/abi/softcheck_kernel.h"

// Calls of kernels on memory that the caller keeps.
namespace softcheck::kernels {

/// A tensor of at most four dimensions. A call points to it, so it cannot be copied.
class CallTensor {
 public:
  /// strides   in elements; none: compact
  CallTensor(void* data, DLDataType type, std::initializer_list<std::int64_t> shape,
             std::initializer_list<std::int64_t> strides = {}) {
    std::copy(shape.begin(), shape.end(), shape_.begin());
    std::copy(strides.begin(), strides.end(), strides_.begin());
    tensor_.data = data;
    tensor_.device = {kDLCPU, 0};
    tensor_.ndim = static_cast<std::int32_t>(shape.size());
    tensor_.dtype = type;
    tensor_.shape = shape_.data();
    tensor_.strides = strides.size() == 0 ? nullptr : strides_.data();
  }
  /// For an input. DLPack has only one, non-const data pointer; kernels do not write inputs.
  template <class Number>
  CallTensor(const Number* data, std::initializer_list<std::int64_t> shape,
             std::initializer_list<std::int64_t> strides = {})
      : CallTensor(const_cast<Number*>(data), type_of<Number>(), shape, strides) {}
  CallTensor(const CallTensor&) = delete;
  CallTensor& operator=(const CallTensor&) = delete;

  DLTensor* get() { return &tensor_; }

 private:
  template <class Number>
  static DLDataType type_of() {
    const auto bits = static_cast<std::uint8_t>(8 * sizeof(Number));
    return {static_cast<std::uint8_t>(std::is_integral_v<Number> ? kDLInt : kDLFloat), bits, 1};
  }

  std::array<std::int64_t, 4> shape_{}, strides_{};
  DLTensor tensor_{};
};

/// A call of version 1, which points to inputs and outputs.
inline softcheck_call call_of(std::span<const DLTensor* const> inputs, std::span<DLTensor* const> outputs,
                              double scale = 1, bool causal = false, double theta = 1) {
  return {SOFTCHECK_KERNEL_ABI_VERSION,
          static_cast<std::uint32_t>(inputs.size()),
          static_cast<std::uint32_t>(outputs.size()),
          inputs.data(),
          outputs.data(),
          theta,
          scale,
          causal ? 1 : 0,
          nullptr};
}

/// A call of version 2, which also points to a role for each input and to attributes.
inline softcheck_call_2 version_2_call(std::uint32_t op, std::span<const DLTensor* const> inputs,
                                       const std::uint32_t* roles, const softcheck_attributes& attributes,
                                       std::span<DLTensor* const> outputs, double scale = 1, bool causal = false) {
  softcheck_call_2 call{call_of(inputs, outputs, scale, causal), op, roles, &attributes};
  call.call.abi_version = SOFTCHECK_KERNEL_ABI_VERSION_2;
  return call;
}

}  // namespace softcheck::kernels
