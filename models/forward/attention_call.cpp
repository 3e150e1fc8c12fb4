#include "models/forward/attention_call.hpp"

#include <array>
#include <stdexcept>
#include <string>

namespace softcheck::models {
namespace {

// f64 numbers of one input and head: shape (1, 1, tokens, dim), or (1, 1, tokens) without dim.
class TokenTensor {
 public:
  // DLPack has one pointer for what is read and what is written.
  TokenTensor(const double* first, Eigen::Index tokens, Eigen::Index stride, Eigen::Index dim = 0)
      : shape_{1, 1, tokens, dim}, strides_{tokens * stride, tokens * stride, stride, 1} {
    tensor_.data = const_cast<double*>(first);
    tensor_.device = {kDLCPU, 0};
    tensor_.ndim = dim == 0 ? 3 : 4;
    tensor_.dtype = {kDLFloat, 64, 1};
    tensor_.shape = shape_.data();
    tensor_.strides = strides_.data();
  }
  TokenTensor(const TokenTensor&) = delete;
  TokenTensor& operator=(const TokenTensor&) = delete;
  DLTensor* get() { return &tensor_; }

 private:
  std::array<std::int64_t, 4> shape_, strides_;
  DLTensor tensor_{};
};

}  // namespace

void call_attention(softcheck_kernel kernel, const AttentionCall& call) {
  const auto head_of = [&](const Eigen::MatrixXd& matrix) {
    return TokenTensor(&matrix(call.head * call.head_dim, call.first_token), call.tokens, matrix.rows(), call.head_dim);
  };
  const auto numbers_of = [&](const Eigen::MatrixXd& matrix) {
    return TokenTensor(&matrix(call.first_token, call.head), call.tokens, 1);
  };
  TokenTensor query = head_of(call.query), key = head_of(call.key), value = head_of(call.value);
  TokenTensor output = head_of(call.output), log_sum = numbers_of(call.log_sum), entropy = numbers_of(call.entropy),
              largest = numbers_of(call.largest_score);
  const std::array<const DLTensor*, 3> inputs{query.get(), key.get(), value.get()};
  const std::array<DLTensor*, 4> outputs{output.get(), log_sum.get(), entropy.get(), largest.get()};
  softcheck_call description{};
  description.abi_version = SOFTCHECK_KERNEL_ABI_VERSION;
  description.n_inputs = inputs.size();
  description.n_outputs = outputs.size();
  description.inputs = inputs.data();
  description.outputs = outputs.data();
  description.theta = 1;
  description.scale = call.scale;
  description.causal = call.causal ? 1 : 0;
  if (kernel(&description) != 0) {
    throw std::runtime_error("the attention kernel refused " + std::to_string(call.tokens) + " queries of " +
                             std::to_string(call.head_dim) + " numbers");
  }
}

}  // namespace softcheck::models
