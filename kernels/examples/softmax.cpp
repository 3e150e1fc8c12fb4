// A kernel as a C++ programmer would plug it in: the function is his, the glue is the extern "C" one below it.
#include <algorithm>
#include <cmath>
#include <span>

#include "kernels/abi/softcheck_kernel.h"

static void softmax(std::span<const float> x, std::span<float> p, float scale) {
  const bool has_nan = std::any_of(x.begin(), x.end(), [](float value) { return std::isnan(value); });
  const float m = has_nan ? NAN : *std::max_element(x.begin(), x.end());
  float sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    sum += p[i] = std::exp((x[i] - m) * scale);
  }
  for (float& value : p) {
    value /= sum;
  }
}

extern "C" __attribute__((visibility("default"))) int example_softmax_cpp(const softcheck_call* call) {
  const DLTensor& in = *call->inputs[0];
  const DLTensor& out = *call->outputs[0];
  const auto [code, bits, lanes] = in.dtype;
  if (call->abi_version != 1 || call->n_inputs != 1 || code != kDLFloat || bits != 32 || lanes != 1) return 1;
  if (in.device.device_type != kDLCPU || in.shape[1] == 0 || in.strides || out.strides) return 1;
  const auto n = static_cast<std::size_t>(in.shape[1]);
  const auto* x = reinterpret_cast<const float*>(static_cast<const char*>(in.data) + in.byte_offset);
  auto* p = reinterpret_cast<float*>(static_cast<char*>(out.data) + out.byte_offset);
  for (std::size_t r = 0; r < static_cast<std::size_t>(in.shape[0]); ++r) {
    softmax({x + r * n, n}, {p + r * n, n}, static_cast<float>(1 / call->theta));
  }
  return 0;
}
