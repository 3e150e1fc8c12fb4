#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "judge/results/tensor_judge.hpp"
#include "proptests/tests/judge/attention_samples.hpp"

namespace softcheck::proptests {

/// A tensor and the memory that it lies in.
struct StoredTensor {
  numerics::Format format = numerics::Format::f32;
  bool is_mask = false;
  Shape shape, strides;
  std::int64_t offset = 0;        // of the first element, in elements
  std::vector<std::byte> memory;  // holds what is in no element, too

  GivenTensor held() const;
  /// value rounded to the format, or the byte of a mask, at an index in the row-major order of the shape.
  void set(std::size_t element, double value);
  double at(std::size_t element) const;

 private:
  std::int64_t place_of(std::size_t element) const;
};

/// How a stored tensor lies in memory.
enum class SampleLayout { compact, column_major, reversed, gaps };

inline constexpr SampleLayout sample_layouts[] = {SampleLayout::compact, SampleLayout::column_major,
                                                  SampleLayout::reversed, SampleLayout::gaps};

std::size_t elements_of(const Shape& shape);

/// values   row-major, rounded to the format
StoredTensor stored(numerics::Format format, const Shape& shape, const std::vector<double>& values,
                    SampleLayout layout = SampleLayout::compact);
/// bytes    nonzero is visible
StoredTensor stored_mask(const Shape& shape, const std::vector<std::uint8_t>& bytes,
                         SampleLayout layout = SampleLayout::compact);

/// Logits of the format between -spread and spread, the same for the same seed.
std::vector<double> sample_numbers(numerics::Format format, std::size_t count, double spread, unsigned seed);

/// What a kernel without an error would return: reference() to the middle, rounded to the format.
std::vector<double> ideal_output(const TensorTask& task, const numerics::Contract& contract, std::size_t which,
                                 numerics::Format format);

/// The elements' bounds and what the contract grants them: reference() and thresholds().
struct ElementBounds {
  std::vector<double> lower, upper, allowed;
  ElementBounds(const TensorTask& task, const numerics::Contract& contract, std::size_t which = 0);
};

/// The row of a claim; throws std::out_of_range where there is none.
const ReportRow& row_of_claim(const TensorJudgement& judgement, const std::string& claim);
std::string details_text(const TensorJudgement& judgement);
/// Whether a judgement passes, with its details where it does not.
::testing::AssertionResult passes(const TensorJudgement& judgement);

/// A task with the results of a kernel without an error, to be spoiled. Which tensors the task reads is its owner's.
struct TensorSample {
  std::vector<StoredTensor> outputs;
  TensorTask task;
  numerics::Contract contract;

  /// A tensor of the shape, of numbers up to the spread.
  static StoredTensor filled(numerics::Format format, const Shape& shape, double spread, unsigned seed,
                             SampleLayout layout = SampleLayout::compact);
  void add(Role role, const StoredTensor& tensor);
  /// Outputs of these numbers: all that a judgement may have.
  virtual std::vector<std::size_t> numbers() const { return {0}; }
  virtual numerics::Format format_of(std::size_t) const { return contract.output; }
  /// The outputs anew, by the task and the contract as they are.
  void rewrite(SampleLayout layout = SampleLayout::compact);
  TensorJudgement judged(const TensorOptions& options = {}) const;
  ReportVerdict verdict() const { return judged().verdict; }
  std::string refusal() const;
  virtual ~TensorSample() = default;

 protected:
  TensorSample() = default;
  TensorSample(const TensorSample&) = default;
  TensorSample& operator=(const TensorSample&) = default;
};

/// The tensors of a case of attention, in no usual order, and the task that they are.
struct CaseTensors {
  TensorTask task;

  /// memory   where the tensors are kept, for as long as the task is used
  CaseTensors(const AttentionCase& attention, Op op, std::vector<StoredTensor>& memory);
  /// One more tensor, in the case's format where no other is named; nothing where it has no values.
  void add(Role role, const std::vector<std::size_t>& shape, const std::vector<double>& values,
           std::optional<numerics::Format> format = std::nullopt);
  /// The mask, where the case has one: it is the last tensor.
  void add_mask();

 private:
  void add_bytes(Role role, std::size_t heads, const std::vector<std::uint8_t>& bytes);
  const AttentionCase& attention_;
  std::vector<StoredTensor>& memory_;
};

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
