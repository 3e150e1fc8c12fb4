// The loss of a linear layer, L - x_y of the logits x = W h, and its gradient by h and W. Hidden states are attention's
// queries and the rows of W its keys: logits err as scores do (B9), the loss of logits that err is B14, and the
// gradient is that of a loss which depends on a query's log-sum-exp and on one score (B17).
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "judge/call/attention_call.hpp"
#include "judge/ops/attention/attention_gradient.hpp"
#include "judge/ops/attention/attention_op.hpp"
#include "judge/ops/attention/attention_rows.hpp"
#include "judge/ops/attention/linear_loss.hpp"
#include "proptests/generators/attention/linear_case.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

LinearCall linear_call(const AttentionCase& a) {
  LinearCall call{a.shape.keys, a.shape.dim, a.queries, a.keys, {}, a.gradients};
  for (std::size_t i = 0; i < a.shape.queries; ++i) {
    const std::int64_t label = label_of_row(a, i);
    call.labels.push_back(label == usual_ignore_index ? std::nullopt : std::optional(static_cast<std::size_t>(label)));
  }
  return call;
}

class LinearOp : public AttentionOp {
 public:
  AttentionCase completed(AttentionCase a) const override {
    a.attributes.classes = true;
    return a;
  }

  Domain narrowed(Domain domain) const override {
    for (const char* one : {"batch", "heads", "group", "values"}) domain.lengths[one] = {.least = 1, .most = 1};
    domain.no_mask = domain.no_causal = domain.classes = true;
    return domain;
  }

  TensorCall call(const AttentionTask& task, const AttentionCase& a) const override {
    const AttentionShape& s = a.shape;
    TensorCall call;
    call.op = traits.number;
    call.attributes.ignore_index = usual_ignore_index;
    call.inputs.push_back({compact_place(a.format, {s.queries, s.dim}), a.queries});
    call.inputs.push_back({compact_place(a.format, {s.keys, s.dim}), a.keys});
    call.inputs.push_back({compact_place(std::nullopt, {s.queries}), {}});
    for (std::size_t i = 0; i < s.queries; ++i) {
      call.inputs.back().values.push_back(static_cast<double>(label_of_row(a, i)));
    }
    call.inputs.back().place.integer_bits = (s.queries + s.keys) % 2 == 0 ? 32 : 64;
    for (const OpInput& input : traits.inputs) call.roles.push_back(input.role);
    add_own(task, a, call);
    lay_out(a, call);
    return call;
  }

 protected:
  using Names = std::span<const std::string_view>;

  /// The gradient has one output for each of the extents; the loss has none of them.
  constexpr LinearOp(std::string_view name, std::uint32_t number, Names outputs, Names claims, Names words,
                     std::span<const Extent> extents = {})
      : AttentionOp({.name = name,
                     .inputs = std::span(inputs).first(extents.empty() ? 3 : 4),
                     .outputs = outputs,
                     .extents = extents,
                     .claims = claims,
                     .all_outputs = true,
                     .has_theta = false,
                     .takes_mask = false,
                     .number = number,
                     .answers = {.words = words, .expensive = true, .masked_rows = false}}) {}
  ~LinearOp() = default;

  virtual void add_own(const AttentionTask& task, const AttentionCase& a, TensorCall& call) const = 0;
  /// Do the row's numbers reach its results?
  static bool is_read(const AttentionCase& a, std::size_t i) { return label_of_row(a, i) != usual_ignore_index; }

 private:
  static constexpr std::array inputs{OpInput{Role::hidden}, OpInput{Role::weight},
                                     OpInput{Role::labels, Extent::rows, true}, OpInput{Role::upstream, Extent::rows}};
};

class LinearCrossEntropy final : public LinearOp {
  static constexpr std::array<std::string_view, 1> outputs{"loss"}, claims{"kernel.linear_cross_entropy.loss"};
  static constexpr std::array<std::string_view, 2> words{"scores", "lse"};

 public:
  constexpr LinearCrossEntropy()
      : LinearOp("linear_cross_entropy", SOFTCHECK_OP_LINEAR_CROSS_ENTROPY, outputs, claims, words) {}

  void judge(const AttentionTask& task, const AttentionCase& a, const Outputs& got, const Chosen& chosen,
             const std::function<void(std::size_t, RowVerdicts)>& each) const override {
    const LinearCall call = linear_call(a);
    LinearLosses losses(task, call);
    for (std::size_t i = 0; i < call.rows(); ++i) {
      if (!call.labels[i] || !chosen || chosen(0, 0, i)) each(i, losses.judge(i, got[0][i]));
    }
  }

  void reached(const AttentionTask& task, const PoisonedCase& poisoned, const Outputs& got,
               const std::function<void(const Reached&)>& each) const override {
    for (std::size_t i = 0; i < poisoned.attention.shape.queries; ++i) {
      if (poisoned.meets(0, 0, i) && is_read(poisoned.attention, i)) each({i, std::nullopt, got[0][i], task.scalars});
    }
  }

  std::vector<double> results_of_query(const AttentionCase&, const Outputs& got, std::size_t row) const override {
    return {got[0][row]};
  }

 private:
  void add_own(const AttentionTask& task, const AttentionCase& a, TensorCall& call) const override {
    call.outputs.push_back({compact_place(task.scalars, {a.shape.queries}), std::nullopt});
  }
};

class LinearCrossEntropyBackward final : public LinearOp {
  static constexpr std::array<std::string_view, 2> outputs{"dhidden", "dweight"},
      claims{"kernel.linear_cross_entropy_backward.dhidden", "kernel.linear_cross_entropy_backward.dweight"};
  static constexpr std::array extents{Extent::vectors, Extent::vectors};
  static constexpr std::array<std::string_view, 2> words{"scores", "ds"};

 public:
  constexpr LinearCrossEntropyBackward()
      : LinearOp("linear_cross_entropy_backward", SOFTCHECK_OP_LINEAR_CROSS_ENTROPY_BACKWARD, outputs, claims, words,
                 extents) {}

  void judge(const AttentionTask& task, const AttentionCase& a, const Outputs& got, const Chosen& chosen,
             const std::function<void(std::size_t, RowVerdicts)>& each) const override {
    const LinearCall call = linear_call(a);
    std::vector<bool> rows;
    for (std::size_t i = 0; chosen && i < call.rows(); ++i) rows.push_back(chosen(0, 0, i));
    const LinearGradient gradient(call, rows);
    bool spoilt = false;  // 0 times a NaN of an ignored row may reach the classes
    for (std::size_t i = 0; i < rows.size(); ++i) spoilt = spoilt || (!call.labels[i] && !rows[i]);
    judge_attention_gradient(LinearGradient::task(task), gradient.group(), {got[0], got[1], {}}, each,
                             [&](std::size_t j, RowVerdicts verdicts) {
                               if (!spoilt) each(key_number(a.shape, 0, 0, j), std::move(verdicts));
                             });
  }

  void reached(const AttentionTask& task, const PoisonedCase& poisoned, const Outputs& got,
               const std::function<void(const Reached&)>& each) const override {
    const AttentionCase& a = poisoned.attention;
    const AttentionShape& s = a.shape;
    const auto all_of = [&](std::size_t output, std::size_t row, std::size_t at) {
      for (std::size_t t = 0; t < s.dim; ++t) each({row, t, got[output][at * s.dim + t], task.contract.output});
    };
    bool any = false;
    for (std::size_t i = 0; i < s.queries; ++i) {
      // A kernel may leave out rows whose upstream gradient is 0.
      if (!poisoned.meets(0, 0, i) || !is_read(a, i) || a.gradients[i] == 0) continue;
      any = true;
      all_of(0, i, i);
    }
    for (std::size_t j = 0; any && j < s.keys; ++j) all_of(1, key_number(s, 0, 0, j), j);
  }

  std::vector<double> results_of_query(const AttentionCase& a, const Outputs& got, std::size_t row) const override {
    const auto first = got[0].begin() + static_cast<std::ptrdiff_t>(row * a.shape.dim);
    return {first, first + static_cast<std::ptrdiff_t>(a.shape.dim)};
  }

 private:
  void add_own(const AttentionTask&, const AttentionCase& a, TensorCall& call) const override {
    call.inputs.push_back({compact_place(a.format, {a.shape.queries}), a.gradients});
    for (const std::size_t tensor : {0, 1}) call.outputs.push_back({call.inputs[tensor].place, std::nullopt});
  }
};

constinit const LinearCrossEntropy linear_forward_op;
constinit const LinearCrossEntropyBackward linear_backward_op;

}  // namespace

constinit const Op Op::linear_cross_entropy = linear_forward_op;
constinit const Op Op::linear_cross_entropy_backward = linear_backward_op;

}  // namespace softcheck::proptests
