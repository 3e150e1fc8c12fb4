#pragma once

#include <vector>

#include "proptests/tests/kernels/attention_tensors.hpp"

namespace softcheck::kernel_tests {

/// Attention of f32 with attributes, out and lse of it, for the CPU kernels. What is empty is no input.
struct AttributedAttention : AttentionTensors<float> {
  AttributedAttention(std::int64_t heads, std::int64_t key_heads, std::int64_t queries, std::int64_t keys,
                      std::int64_t dim)
      : AttentionTensors({1, heads, key_heads, queries, keys, dim, dim}) {}

  std::int64_t place_of(std::int64_t query) const {
    return attributes.causal_top_left != 0 ? query : query + shape.keys - shape.queries;
  }
  void set_window(std::int64_t left, std::int64_t right) {
    attributes.window_left_plus_1 = left + 1;
    attributes.window_right_plus_1 = right + 1;
  }
  /// Whether the attributes' windows and causality let a query see a key.
  bool sees(std::int64_t query, std::int64_t key) const {
    const std::int64_t left = attributes.window_left_plus_1, right = attributes.window_right_plus_1,
                       auxiliary = key - place_of(query);
    return !(shape.causal && auxiliary > 0) && (left == 0 || -auxiliary < left) && (right == 0 || auxiliary < right);
  }

  /// Whether the kernel takes the call.
  bool run() {
    F32 of_sinks({shape.heads}), of_slopes({shape.heads}), of_bias({1, shape.heads, shape.queries, shape.keys});
    if (static_cast<std::int64_t>(bias.size()) == shape.queries * shape.keys) of_bias.shape[1] = 1;
    Call2 call(SOFTCHECK_OP_ATTENTION, {&q.view, &k.view, &v.view}, attention_roles(), out.view);
    if (shape.masked) call.add_input(mask.view, SOFTCHECK_ROLE_MASK);
    const auto add = [&](F32& tensor, const std::vector<float>& values, std::uint32_t role) {
      if (values.empty()) return;
      tensor.set(values);
      call.add_input(tensor.view, role);
    };
    add(of_sinks, sinks, SOFTCHECK_ROLE_SINKS);
    add(of_slopes, slopes, SOFTCHECK_ROLE_SLOPES);
    add(of_bias, bias, SOFTCHECK_ROLE_BIAS);
    call.outputs.push_back(&lse.view);
    call.attributes = attributes;
    call.attributes.size = sizeof attributes;
    call.whole.call.scale = scale;
    call.whole.call.causal = shape.causal ? 1 : 0;
    for (Tensor<float>* result : {&out, static_cast<Tensor<float>*>(&lse)}) std::ranges::fill(result->elements, -7.0F);
    return call.run();
  }

  /// A query's row of out and lse.
  std::vector<float> result(std::size_t row) const {
    std::vector<float> values = AttentionTensors::result(row);
    values.resize(values.size() - 2);
    return values;
  }

  softcheck_attributes attributes{};
  std::vector<float> sinks, slopes, bias;
};

/// Whether two calls gave the same.
inline testing::AssertionResult same_results(const AttributedAttention& one, const AttributedAttention& other) {
  const testing::AssertionResult same = same_bits(one.out.elements, other.out.elements);
  return same ? same_bits(one.lse.elements, other.lse.elements) : same;
}

}  // namespace softcheck::kernel_tests
