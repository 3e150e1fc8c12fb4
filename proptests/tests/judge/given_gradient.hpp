#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "proptests/tests/judge/tensor_samples.hpp"

namespace softcheck::proptests {

/// A task of attention's gradient with the exact results, to be spoiled: two batches, two key heads, two query heads
/// for each, three queries and five keys.
struct GivenGradient {
  StoredTensor q, k, v, dout, out, lse, mask, sinks, slopes, bias;
  std::vector<StoredTensor> outputs;  // dq, dk, dv, and what the task asks for beside these
  TensorTask task;
  numerics::Contract contract;

  explicit GivenGradient(numerics::Format format = numerics::Format::f32, SampleLayout layout = SampleLayout::compact)
      : q(filled(format, {2, 4, 3, 4}, 1, layout)),
        k(filled(format, {2, 2, 5, 4}, 2, layout)),
        v(filled(format, {2, 2, 5, 3}, 3, layout)),
        dout(filled(format, {2, 4, 3, 3}, 4, layout)) {
    task.op = Op::attention_backward;
    task.scale = 0.5;
    hold();
    contract = contract_for(task, "");
  }

  static StoredTensor filled(numerics::Format format, const std::vector<std::int64_t>& shape, unsigned seed,
                             SampleLayout layout = SampleLayout::compact) {
    std::size_t count = 1;
    for (const std::int64_t size : shape) count *= static_cast<std::size_t>(size);
    return stored(format, shape, sample_numbers(format, count, 2, seed), layout);
  }

  void hold() {
    task.roles = {Role::query, Role::key, Role::value, Role::out_gradient};
    task.inputs = {q.held(), k.held(), v.held(), dout.held()};
  }
  void add(Role role, const StoredTensor& tensor) {
    task.roles.push_back(role);
    task.inputs.push_back(tensor.held());
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
  void add_terms(const std::vector<std::int64_t>& bias_shape) {
    sinks = stored(wide_format(q.format), {4}, {0.5, -1, 2, 0});
    bias = filled(q.format, bias_shape, 9);
    add(Role::sinks, sinks);
    add(Role::bias, bias);
    task.asked = {3, 4};
  }
  std::vector<std::size_t> numbers() const {
    std::vector<std::size_t> all{0, 1, 2};
    all.insert(all.end(), task.asked.begin(), task.asked.end());
    return all;
  }
  numerics::Format format_of(std::size_t which) const { return which == 3 ? wide_format(q.format) : contract.output; }
  void rewrite(SampleLayout layout = SampleLayout::compact) {
    outputs.clear();
    for (const std::size_t which : numbers()) {
      outputs.push_back(stored(format_of(which), output_shape(task, which),
                               ideal_output(task, contract, which, format_of(which)), layout));
    }
  }
  TensorJudgement judged(const TensorOptions& options = {}) const {
    std::vector<GivenTensor> held;
    for (const StoredTensor& output : outputs) held.push_back(output.held());
    return judge_tensors(task, contract, held, options);
  }
  std::string refusal() const {
    try {
      judged();
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "not refused";
  }
};

}  // namespace softcheck::proptests
