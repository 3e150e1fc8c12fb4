#include "models/forward/attention_call.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/abi/kernel_call.hpp"

namespace softcheck::models {

using kernels::CallTensor;

namespace {

// 1 where a query sees a key of the last window ones, its own among them; causality is the kernel's.
std::vector<std::uint8_t> window_mask(std::int64_t tokens, std::int64_t window) {
  std::vector<std::uint8_t> mask(static_cast<std::size_t>(tokens * tokens));
  for (std::int64_t i = 0; i < tokens; ++i) {
    const auto row = mask.begin() + i * tokens;
    std::fill(row + std::max<std::int64_t>(0, i + 1 - window), row + i + 1, std::uint8_t{1});
  }
  return mask;
}

int call_adaptive(softcheck_kernel kernel, const AttentionCall& call, std::array<const DLTensor*, 4> inputs,
                  std::span<DLTensor* const> outputs) {
  if (call.softcap) throw std::invalid_argument("call_attention: adaptive attention takes no softcap");
  std::vector<std::uint8_t> mask;
  if (call.window && *call.window < static_cast<std::uint64_t>(call.tokens)) {
    mask = window_mask(call.tokens, static_cast<std::int64_t>(*call.window));
  }
  CallTensor seen(mask.data(), DLDataType{kDLUInt, 8, 1}, {1, 1, call.tokens, call.tokens});
  inputs[3] = seen.get();
  const softcheck_call description =
      kernels::call_of(std::span(inputs).first(mask.empty() ? 3 : 4), outputs.first(3), call.scale, call.causal);
  return kernel(&description);
}

}  // namespace

void call_attention(softcheck_kernel kernel, const AttentionCall& call) {
  // f64 numbers of one input and head: (1, 1, tokens, head_dim) and (1, 1, tokens).
  const auto head_of = [&](const Eigen::MatrixXd& matrix, Eigen::Index head) {
    const std::int64_t stride = matrix.rows();
    return CallTensor(&matrix(head * call.head_dim, call.first_token), {1, 1, call.tokens, call.head_dim},
                      {call.tokens * stride, call.tokens * stride, stride, 1});
  };
  const auto numbers_of = [&](const Eigen::MatrixXd& matrix) {
    return CallTensor(&matrix(call.first_token, call.head), {1, 1, call.tokens}, {call.tokens, call.tokens, 1});
  };
  CallTensor query = head_of(call.query, call.head), key = head_of(call.key, call.key_head),
             value = head_of(call.value, call.key_head);
  CallTensor output = head_of(call.output, call.head), log_sum = numbers_of(call.log_sum),
             entropy = numbers_of(call.entropy), largest = numbers_of(call.largest_score);
  const std::array<const DLTensor*, 3> inputs{query.get(), key.get(), value.get()};
  const std::array<DLTensor*, 4> outputs{output.get(), log_sum.get(), entropy.get(), largest.get()};
  int refused = 0;
  if (call.adaptive) {
    refused = call_adaptive(kernel, call, {inputs[0], inputs[1], inputs[2]}, outputs);
  } else if (call.window || call.softcap) {
    softcheck_attributes attributes{};
    attributes.size = sizeof attributes;
    attributes.window_left_plus_1 =
        static_cast<std::int64_t>(std::min<std::uint64_t>(call.window.value_or(0), INT32_MAX));
    attributes.softcap = call.softcap.value_or(0);
    const std::array<std::uint32_t, 3> roles{SOFTCHECK_ROLE_QUERY, SOFTCHECK_ROLE_KEY, SOFTCHECK_ROLE_VALUE};
    const softcheck_call_2 description = kernels::version_2_call(SOFTCHECK_OP_ATTENTION, inputs, roles.data(),
                                                                 attributes, outputs, call.scale, call.causal);
    refused = kernel(&description.call);
  } else {
    const softcheck_call description = kernels::call_of(inputs, outputs, call.scale, call.causal);
    refused = kernel(&description);
  }
  if (refused != 0) {
    throw std::runtime_error("the attention kernel refused " + std::to_string(call.tokens) + " queries of " +
                             std::to_string(call.head_dim) + " numbers");
  }
}

}  // namespace softcheck::models
