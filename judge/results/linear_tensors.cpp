#include "judge/results/linear_tensors.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "judge/ops/attention/linear_loss.hpp"
#include "judge/ops/rows/row_elements.hpp"
#include "judge/results/attention_tensors.hpp"
#include "judge/results/task_checks.hpp"
#include "judge/results/tensor_tally.hpp"
#include "numerics/formats/special_values.hpp"

namespace softcheck::proptests {
namespace {

using numerics::nan;

// The pairs of a gradient take some 300 bytes per logit.
constexpr std::size_t most_logits = std::size_t{1} << 24;

Shape leading(const GivenTensor& tensor) { return {tensor.shape.begin(), tensor.shape.end() - 1}; }

class LinearTensors {
 public:
  explicit LinearTensors(const TensorTask& task) {
    require_task(task);
    const GivenTensor &hidden = *input_of(task, Role::hidden), &weight = *input_of(task, Role::weight),
                      &labels = *input_of(task, Role::labels);
    if (hidden.shape.empty()) throw std::invalid_argument("hidden: need a dimension, got " + shape_text(hidden.shape));
    require_shape("weight", weight.shape, Shape{weight.shape.empty() ? 0 : weight.shape[0], hidden.shape.back()});
    require_shape("labels", labels.shape, leading(hidden));
    const GivenTensor* const upstream = input_of(task, Role::upstream);
    if (upstream != nullptr) require_shape("upstream", upstream->shape, leading(hidden));
    hidden_ = decoded(hidden);
    weight_ = decoded(weight);
    if (upstream != nullptr) upstream_ = decoded(*upstream);
    call = {static_cast<std::size_t>(weight.shape[0]),
            static_cast<std::size_t>(hidden.shape.back()),
            hidden_,
            weight_,
            {},
            upstream_};
    const RowWalk walk(labels.shape);
    for (std::size_t i = 0; i < walk.rows(); ++i) {
      call.labels.push_back(label_at(labels, walk, i, weight.shape[0], task.attributes.ignore_index));
    }
    if (upstream != nullptr && call.rows() * call.classes > most_logits) {
      throw std::invalid_argument("hidden: need at most " + std::to_string(most_logits) +
                                  " logits for a gradient, got " + std::to_string(call.rows() * call.classes));
    }
    const NumberKinds of_weight = kinds_of(weight_);
    for (std::size_t i = 0; i < call.rows(); ++i) {
      NumberKinds kinds = kinds_of(call.hidden.subspan(i * call.dim, call.dim));
      if (!upstream_.empty()) kinds |= kinds_of(call.upstream.subspan(i, 1));
      spoilt_ = spoilt_ || (!call.labels[i] && kinds != 0);
      const bool may_be_nan = upstream != nullptr && (kinds | of_weight) != 0;  // 0 times a NaN
      kinds_.push_back(call.labels[i] ? query_kind(0, kinds | of_weight, true)
                       : may_be_nan   ? QueryKind::infinite
                                      : QueryKind::usual);
      usual.push_back(kinds_[i] == QueryKind::usual);
    }
  }
  LinearTensors(const LinearTensors&) = delete;
  LinearTensors& operator=(const LinearTensors&) = delete;

  QueryKind kind(std::size_t row) const { return kinds_[row]; }
  /// Of the weights' gradient.
  QueryKind kind_of_classes() const {
    const auto has = [&](QueryKind kind) { return std::ranges::find(kinds_, kind) != kinds_.end(); };
    return has(QueryKind::infinite) || spoilt_ ? QueryKind::infinite
           : has(QueryKind::nan)               ? QueryKind::nan
                                               : QueryKind::usual;
  }

  LinearCall call;
  std::vector<bool> usual;  // rows without a NaN and an infinity, or ignored

 private:
  std::vector<double> hidden_, weight_, upstream_;
  std::vector<QueryKind> kinds_;
  bool spoilt_ = false;  // an ignored row has a NaN or an infinity, which its factor 0 may keep
};

AttentionTask task_of(const TensorTask& task, const numerics::Contract& contract) {
  return LinearGradient::task({task.op, contract, has_parts(task.op) ? wide_format(contract.input) : contract.output});
}

// A row that a NaN or an infinity reaches.
void add_special(QueryKind kind, std::size_t row, std::span<const double> got, TensorTally& tally) {
  if (kind == QueryKind::infinite)
    return tally.skip(
        "a row that meets an infinity, or a NaN that is multiplied by 0, of which the ABI promises nothing");
  tally.add(row, {{nan_finding(got, got.size(), "a NaN reaches the row, so that NaN is due")}, {}});
}

}  // namespace

TensorJudgement judge_linear(const TensorTask& task, const numerics::Contract& contract,
                             std::span<const GivenTensor> outputs, const TensorOptions& options) {
  const LinearTensors tensors(task);
  const AttentionTask by = task_of(task, contract);
  std::vector<std::vector<double>> got;
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    require_shape(output_name(task.op, k), outputs[k].shape, shape_of_linear(task, k));
    got.push_back(decoded(outputs[k]));
  }
  const LinearCall& call = tensors.call;
  TensorTally tally(task, contract, by.scalars, options);
  if (!has_parts(task.op)) {
    tally.run([&] {
      LinearLosses losses(by, call);
      for (std::size_t i = 0; i < call.rows() && tally.goes_on(i); ++i) {
        if (!tensors.usual[i]) {
          add_special(tensors.kind(i), i, std::span(got[0]).subspan(i, 1), tally);
        } else {
          tally.add(i, losses.judge(i, got[0][i]));
        }
      }
    });
    return tally.judgement();
  }
  tally.run([&] {
    const LinearGradient gradient(call, tensors.usual);
    const auto special = [&](std::size_t output, QueryKind kind, std::size_t first, std::size_t row) {
      if (kind != QueryKind::usual) {
        add_special(kind, first + row, std::span(got[output]).subspan(row * call.dim, call.dim), tally);
      }
    };
    for (std::size_t i = 0; i < call.rows(); ++i) special(0, tensors.kind(i), 0, i);
    judge_attention_gradient(
        by, gradient.group(), {got[0], got[1], {}},
        [&](std::size_t i, RowVerdicts verdicts) { tally.add(i, std::move(verdicts)); },
        [&](std::size_t j, RowVerdicts verdicts) {
          if (tensors.kind_of_classes() == QueryKind::usual) tally.add(call.rows() + j, std::move(verdicts));
        });
    for (std::size_t j = 0; j < call.classes; ++j) special(1, tensors.kind_of_classes(), call.rows(), j);
  });
  return tally.judgement();
}

void reference_of_linear(const TensorTask& task, const numerics::Contract& contract, std::size_t which,
                         std::span<double> lower, std::span<double> upper) {
  const LinearTensors tensors(task);
  const AttentionTask by = task_of(task, contract);
  if (has_parts(task.op)) {
    const LinearGradient gradient(tensors.call, tensors.usual);
    return exact_attention_gradient(by, gradient.group(), static_cast<GradientPart>(which), lower, upper);
  }
  const LinearLosses losses(by, tensors.call);
  for (std::size_t i = 0; i < lower.size(); ++i) {
    lower[i] = upper[i] = nan;
    if (!tensors.usual[i]) continue;
    const numerics::Enclosure exact = refined(losses.exact(i), [&] { return losses.exact(i); });
    lower[i] = exact.lower_double();
    upper[i] = exact.upper_double();
  }
}

void thresholds_of_linear(const TensorTask& task, const numerics::Contract& contract, std::size_t which,
                          std::span<double> allowed) {
  const LinearTensors tensors(task);
  const AttentionTask by = task_of(task, contract);
  if (has_parts(task.op)) {
    const LinearGradient gradient(tensors.call, tensors.usual);
    return granted_attention_gradient(by, gradient.group(), static_cast<GradientPart>(which), allowed);
  }
  LinearLosses losses(by, tensors.call);
  for (std::size_t i = 0; i < allowed.size(); ++i) allowed[i] = tensors.usual[i] ? losses.threshold(i) : nan;
}

Shape shape_of_linear(const TensorTask& task, std::size_t which) {
  if (which == 1) return input_of(task, Role::weight)->shape;
  const GivenTensor& hidden = *input_of(task, Role::hidden);
  return has_parts(task.op) ? hidden.shape : leading(hidden);
}

}  // namespace softcheck::proptests
