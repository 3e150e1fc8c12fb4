#pragma once

#include "kernels/block/abi/attention_calls.hpp"
#include "kernels/cuda/device_call.cuh"

// From a call of the ABI to launches on a device. Launcher{stream} is a launcher for
// kernels/block/abi/attention_calls.hpp.
namespace softcheck::kernels {

/// Bytes of a block's shared memory, in whole loads of 16: if a loop over an array's elements ends with fewer bytes,
/// nvcc 13 still loads 16 and drops the rest (found by compute-sanitizer on an H100).
constexpr std::size_t whole_loads(std::size_t bytes) { return (bytes + 15) / 16 * 16; }

template <bool adaptive, class Launcher>
int run_on_device(const softcheck_call* call) {
  return on_device(call, [&](const DeviceCall& shown) {
    return run_attention_call<adaptive>(&shown.call(), Launcher{shown.stream()});
  });
}

template <bool adaptive, class Launcher>
int run_packed_on_device(const softcheck_call* call) {
  return on_device(call, [&](const DeviceCall& shown) {
    return run_packed_attention_call<adaptive>(&shown.call(), shown.staged() ? call : nullptr,
                                               Launcher{shown.stream()});
  });
}

template <class Launcher>
int run_statistics_on_device(const softcheck_call* call) {
  return on_device(call, [&](const DeviceCall& shown) {
    return run_attention_statistics_call(&shown.call(), Launcher{shown.stream()});
  });
}

template <class Launcher>
int run_packed_statistics_on_device(const softcheck_call* call) {
  return on_device(call, [&](const DeviceCall& shown) {
    return run_packed_statistics_call(&shown.call(), shown.staged() ? call : nullptr, Launcher{shown.stream()});
  });
}

template <bool adaptive, class Launcher>
int run_backward_on_device(const softcheck_call* call) {
  return on_device(call, [&](const DeviceCall& shown) {
    return run_backward_call<adaptive>(&shown.call(), Launcher{shown.stream()});
  });
}

template <bool adaptive, class Launcher>
int run_packed_backward_on_device(const softcheck_call* call) {
  return on_device(call, [&](const DeviceCall& shown) {
    return run_packed_backward_call<adaptive>(&shown.call(), shown.staged() ? call : nullptr, Launcher{shown.stream()});
  });
}

/// The attention ops of kernels/entry/ops.hpp by a launcher. Lengths on a device are not checked: the kernels clamp
/// them to the tensors, and the results of a call with wrong lengths have no meaning.
template <class Launcher>
struct AttentionOps {
  static int attention(const softcheck_call* call) { return run_on_device<false, Launcher>(call); }
  static int adaptive_attention(const softcheck_call* call) { return run_on_device<true, Launcher>(call); }
  static int attention_varlen(const softcheck_call* call) { return run_packed_on_device<false, Launcher>(call); }
  static int adaptive_attention_varlen(const softcheck_call* call) {
    return run_packed_on_device<true, Launcher>(call);
  }
};

template <class Launcher>
struct StatisticsOps {
  static int attention_statistics(const softcheck_call* call) { return run_statistics_on_device<Launcher>(call); }
  static int attention_statistics_varlen(const softcheck_call* call) {
    return run_packed_statistics_on_device<Launcher>(call);
  }
};

template <class Launcher>
struct BackwardOps {
  static int attention_backward(const softcheck_call* call) { return run_backward_on_device<false, Launcher>(call); }
  static int adaptive_attention_backward(const softcheck_call* call) {
    return run_backward_on_device<true, Launcher>(call);
  }
  static int attention_backward_varlen(const softcheck_call* call) {
    return run_packed_backward_on_device<false, Launcher>(call);
  }
  static int adaptive_attention_backward_varlen(const softcheck_call* call) {
    return run_packed_backward_on_device<true, Launcher>(call);
  }
};

}  // namespace softcheck::kernels
