#include "models/forward/attention_call.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "kernels/abi/kernel_call.hpp"

namespace softcheck::models {

using kernels::CallTensor;

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
  if (call.window || call.softcap) {
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
