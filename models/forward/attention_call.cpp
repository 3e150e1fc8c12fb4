#include "models/forward/attention_call.hpp"

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "kernels/abi/kernel_call.hpp"

namespace softcheck::models {

using kernels::CallTensor;

void call_attention(softcheck_kernel kernel, const AttentionCall& call) {
  // f64 numbers of one input and head: (1, 1, tokens, head_dim) and (1, 1, tokens).
  const auto head_of = [&](const Eigen::MatrixXd& matrix) {
    const std::int64_t stride = matrix.rows();
    return CallTensor(&matrix(call.head * call.head_dim, call.first_token), {1, 1, call.tokens, call.head_dim},
                      {call.tokens * stride, call.tokens * stride, stride, 1});
  };
  const auto numbers_of = [&](const Eigen::MatrixXd& matrix) {
    return CallTensor(&matrix(call.first_token, call.head), {1, 1, call.tokens}, {call.tokens, call.tokens, 1});
  };
  CallTensor query = head_of(call.query), key = head_of(call.key), value = head_of(call.value);
  CallTensor output = head_of(call.output), log_sum = numbers_of(call.log_sum), entropy = numbers_of(call.entropy),
             largest = numbers_of(call.largest_score);
  const std::array<const DLTensor*, 3> inputs{query.get(), key.get(), value.get()};
  const std::array<DLTensor*, 4> outputs{output.get(), log_sum.get(), entropy.get(), largest.get()};
  const softcheck_call description = kernels::call_of(inputs, outputs, call.scale, call.causal);
  if (kernel(&description) != 0) {
    throw std::runtime_error("the attention kernel refused " + std::to_string(call.tokens) + " queries of " +
                             std::to_string(call.head_dim) + " numbers");
  }
}

}  // namespace softcheck::models
