#pragma once

#include "kernels/block/abi/attention_calls.hpp"
#include "kernels/cuda/device_call.cuh"

// From a call of the ABI to launches on a device. Launcher{stream} has what kernels/block/abi/attention_calls.hpp asks
// of one.
namespace softcheck::kernels {

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

}  // namespace softcheck::kernels
