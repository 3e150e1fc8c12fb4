#pragma once

#include "proptests/tests/judge/tensor_samples.hpp"

namespace softcheck::proptests {

/// A task of attention's gradient with the exact results, to be spoiled: two batches, two key heads, two query heads
/// for each, three queries and five keys.
struct GivenGradient : TensorSample {
  StoredTensor q, k, v, dout, out, lse, mask, sinks, slopes, bias;

  /// Outputs: dq, dk, dv, and what the task asks for beside these.
  explicit GivenGradient(numerics::Format format = numerics::Format::f32, SampleLayout layout = SampleLayout::compact)
      : q(filled(format, {2, 4, 3, 4}, 2, 1, layout)),
        k(filled(format, {2, 2, 5, 4}, 2, 2, layout)),
        v(filled(format, {2, 2, 5, 3}, 2, 3, layout)),
        dout(filled(format, {2, 4, 3, 3}, 2, 4, layout)) {
    task.op = Op::attention_backward;
    task.scale = 0.5;
    hold();
    contract = contract_for(task, "");
  }

  void hold() {
    task.roles = {Role::query, Role::key, Role::value, Role::out_gradient};
    task.inputs = {q.held(), k.held(), v.held(), dout.held()};
  }
  /// The forward pass's exact results, each rounded once.
  void save() {
    TensorTask forward{.op = Op::attention, .inputs = {q.held(), k.held(), v.held()}, .scale = task.scale};
    forward.causal = task.causal;
    forward.roles = {Role::query, Role::key, Role::value};
    for (std::size_t i = 0; i < task.roles.size(); ++i) {
      if (task.roles[i] != Role::sinks && task.roles[i] != Role::bias) continue;
      forward.roles.push_back(task.roles[i]);
      forward.inputs.push_back(task.inputs[i]);
    }
    const numerics::Contract of_forward = contract_for(forward, "");
    out = stored(q.format, {2, 4, 3, 3}, ideal_output(forward, of_forward, 0, q.format));
    lse = stored(wide_format(q.format), {2, 4, 3}, ideal_output(forward, of_forward, 1, wide_format(q.format)));
    add(Role::out, out);
    add(Role::lse, lse);
  }
  /// The sinks and a bias of this shape, and their gradients asked for.
  void add_terms(const Shape& bias_shape) {
    sinks = stored(wide_format(q.format), {4}, {0.5, -1, 2, 0});
    bias = filled(q.format, bias_shape, 2, 9);
    add(Role::sinks, sinks);
    add(Role::bias, bias);
    task.asked = {3, 4};
  }
  std::vector<std::size_t> numbers() const override {
    std::vector<std::size_t> all{0, 1, 2};
    all.insert(all.end(), task.asked.begin(), task.asked.end());
    return all;
  }
  numerics::Format format_of(std::size_t which) const override {
    return which == 3 ? wide_format(q.format) : contract.output;
  }
};

}  // namespace softcheck::proptests
