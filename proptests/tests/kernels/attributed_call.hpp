#pragma once

#include <optional>
#include <string>
#include <vector>

#include "proptests/tests/kernels/version_2_call.hpp"

namespace softcheck::kernel_tests {

/// Attention of f32 with attributes, out and lse of it, for the CPU kernels. What is empty is no input.
struct AttributedAttention {
  AttributedAttention(std::int64_t h, std::int64_t kh, std::int64_t nq, std::int64_t nk, std::int64_t dim)
      : heads(h),
        queries(nq),
        keys(nk),
        q(dtype_of<float>(), {1, h, nq, dim}),
        k(dtype_of<float>(), {1, kh, nk, dim}),
        v(dtype_of<float>(), {1, kh, nk, dim}) {
    std::uint32_t seed = 0;
    for (Tensor<float>* tensor : {&q, &k, &v}) {
      tensor->elements = uneven_row<float>(tensor->elements.size(), ++seed);
      for (float& x : tensor->elements) x = x / 16 + 1;  // [-1, 1)
      tensor->view.data = tensor->elements.data();
    }
  }

  std::size_t rows() const { return static_cast<std::size_t>(heads * queries); }
  std::int64_t place_of(std::int64_t query) const {
    return attributes.causal_top_left != 0 ? query : query + keys - queries;
  }
  void set_window(std::int64_t left, std::int64_t right) {
    attributes.window_left_plus_1 = left + 1;
    attributes.window_right_plus_1 = right + 1;
  }
  /// Whether the attributes' windows and causality let a query see a key.
  bool sees(std::int64_t query, std::int64_t key) const {
    const std::int64_t left = attributes.window_left_plus_1, right = attributes.window_right_plus_1,
                       auxiliary = key - place_of(query);
    return !(causal && auxiliary > 0) && (left == 0 || -auxiliary < left) && (right == 0 || auxiliary < right);
  }

  /// Whether the kernel takes the call.
  bool run() {
    Tensor<float> output(dtype_of<float>(), {1, heads, queries, q.shape[3]}, {}, 0, -7);
    Tensor<float> log(dtype_of<float>(), {1, heads, queries}, {}, 0, -7);
    std::vector<std::int64_t> of_heads{heads}, of_mask{1, heads, queries, keys}, of_bias = of_mask;
    of_bias[1] = static_cast<std::int64_t>(bias.size()) == queries * keys ? 1 : heads;
    const auto input = [](auto& data, std::vector<std::int64_t>& shape, DLDataType type) {
      return DLTensor{data.data(), {kDLCPU, 0}, static_cast<int>(shape.size()), type, shape.data(), nullptr, 0};
    };
    const DLTensor tm = input(mask, of_mask, mask_type), ts = input(sinks, of_heads, dtype_of<float>()),
                   ta = input(slopes, of_heads, dtype_of<float>()), tb = input(bias, of_bias, dtype_of<float>());
    Call2 call(SOFTCHECK_OP_ATTENTION, {&q.view, &k.view, &v.view},
               {SOFTCHECK_ROLE_QUERY, SOFTCHECK_ROLE_KEY, SOFTCHECK_ROLE_VALUE}, output.view);
    const auto add = [&](const DLTensor& tensor, std::uint32_t role, bool is_there) {
      if (!is_there) return;
      call.inputs.push_back(&tensor);
      call.roles.push_back(role);
    };
    add(tm, SOFTCHECK_ROLE_MASK, !mask.empty());
    add(ts, SOFTCHECK_ROLE_SINKS, !sinks.empty());
    add(ta, SOFTCHECK_ROLE_SLOPES, !slopes.empty());
    add(tb, SOFTCHECK_ROLE_BIAS, !bias.empty());
    call.outputs.push_back(&log.view);
    const std::uint32_t size = call.attributes.size;
    call.attributes = attributes;
    call.attributes.size = size;
    call.whole.call.scale = scale;
    call.whole.call.causal = causal ? 1 : 0;
    const bool taken = call.run();
    out = output.elements;
    lse = log.elements;
    return taken;
  }

  std::vector<float> result(std::size_t row) const {
    const auto width = static_cast<std::ptrdiff_t>(q.shape[3]), first = static_cast<std::ptrdiff_t>(row) * width;
    std::vector<float> values(out.begin() + first, out.begin() + first + width);
    values.push_back(lse[row]);
    return values;
  }

  std::int64_t heads, queries, keys;
  double scale = 2;
  bool causal = false;
  softcheck_attributes attributes{};
  Tensor<float> q, k, v;
  std::vector<std::uint8_t> mask;
  std::vector<float> sinks, slopes, bias;
  std::vector<float> out, lse;
};

}  // namespace softcheck::kernel_tests
