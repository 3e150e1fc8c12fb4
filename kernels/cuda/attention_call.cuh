#pragma once

#include "kernels/block/abi/attention_calls.hpp"
#include "kernels/cuda/device_call.cuh"

// From a call of the ABI to launches on a device. Launcher{stream} has what kernels/block/abi/attention_calls.hpp asks
// of one.
namespace softcheck::kernels {

template <bool adaptive, class Launcher>
int run_on_device(const softcheck_call* call) {
  const DeviceCall shown(call);
  return shown.finished(shown ? run_attention_call<adaptive>(&shown.call(), Launcher{shown.stream()}) : 1);
}

template <bool adaptive, class Launcher>
int run_packed_on_device(const softcheck_call* call) {
  const DeviceCall shown(call);
  const softcheck_call* readable = shown.staged() ? call : nullptr;
  return shown.finished(shown ? run_packed_attention_call<adaptive>(&shown.call(), readable, Launcher{shown.stream()})
                              : 1);
}

template <bool adaptive, class Launcher>
int run_backward_on_device(const softcheck_call* call) {
  const DeviceCall shown(call);
  return shown.finished(shown ? run_backward_call<adaptive>(&shown.call(), Launcher{shown.stream()}) : 1);
}

template <bool adaptive, class Launcher>
int run_packed_backward_on_device(const softcheck_call* call) {
  const DeviceCall shown(call);
  const softcheck_call* readable = shown.staged() ? call : nullptr;
  return shown.finished(shown ? run_packed_backward_call<adaptive>(&shown.call(), readable, Launcher{shown.stream()})
                              : 1);
}

}  // namespace softcheck::kernels
