#include "judge/survivors/loss_case.hpp"

#include <cmath>
#include <numeric>
#include <span>

#include "numerics/filter/row_filter.hpp"

namespace softcheck::proptests {
namespace {

using numerics::round_to;

TensorPlace compact_place(std::optional<numerics::Format> format, std::vector<std::int64_t> shape) {
  TensorPlace place;
  place.format = format;
  place.shape = std::move(shape);
  place.integer_bits = 64;  // labels
  place.against_the_end = false;
  return place;
}

TensorCall call_of(const LossBatch& batch, const LossLogits& logit) {
  InputTensor logits{compact_place(batch.format, {batch.rows, batch.columns}), {}};
  for (std::int64_t i = 0; i < batch.rows * batch.columns; ++i)
    logits.values.push_back(round_to(batch.format, logit()));
  InputTensor labels{compact_place(std::nullopt, {batch.rows}), {}};
  for (const std::int64_t label : batch.labels) labels.values.push_back(static_cast<double>(label));
  TensorCall call;
  call.inputs = {std::move(logits), std::move(labels)};
  call.op = SOFTCHECK_OP_CROSS_ENTROPY;
  call.roles = {Role::logits, Role::labels};
  call.attributes.label_smoothing = batch.label_smoothing;
  call.attributes.z_loss = batch.z_loss;
  call.attributes.ignore_index = batch.ignore_index;
  call.attributes.softcap = batch.softcap;
  return call;
}

std::vector<double> capped(const LossBatch& batch, std::span<const double> logits) {
  std::vector<double> result(logits.begin(), logits.end());
  if (batch.softcap == 0) return result;
  for (double& x : result) x = batch.softcap * std::tanh(x / batch.softcap);
  return result;
}

// What a row's loss and gradient are made of: in long double, as a loss near 0 is a small difference.
struct LossOfRow {
  std::span<const double> logits;
  numerics::FilterStatistics statistics;
  long double log_sum = 0;  // ln S, L = maximum + ln S

  explicit LossOfRow(std::span<const double> row)
      : logits(row),
        statistics(numerics::filter_row(row)),
        log_sum(std::log1p(static_cast<long double>(statistics.sum_minus_one.value))) {}

  long double lse() const { return statistics.maximum + log_sum; }
  long double negative_log(double x) const { return (static_cast<long double>(statistics.maximum) - x) + log_sum; }
  long double loss(const LossBatch& batch, std::int64_t label) const {
    const long double smoothing = batch.label_smoothing;
    long double mean = 0;
    for (const double x : logits) mean += negative_log(x);
    mean /= static_cast<long double>(logits.size());
    const long double own = negative_log(logits[static_cast<std::size_t>(label)]);
    return (1 - smoothing) * own + smoothing * mean + batch.z_loss * lse() * lse();
  }
};

std::vector<double> losses_of(const LossBatch& batch, const TensorCall& call) {
  std::vector<double> losses;
  const std::span<const double> logits(call.inputs[0].values);
  const auto columns = static_cast<std::size_t>(batch.columns);
  for (std::size_t row = 0; row < batch.labels.size(); ++row) {
    const bool ignored = batch.labels[row] == batch.ignore_index;
    const std::vector<double> of_row = capped(batch, logits.subspan(row * columns, columns));
    const LossOfRow terms(of_row);
    losses.push_back(ignored ? 0 : static_cast<double>(terms.loss(batch, batch.labels[row])));
  }
  return losses;
}

void append_gradient(const LossBatch& batch, std::span<const double> given, std::int64_t label, double upstream,
                     std::vector<double>& gradient) {
  if (label == batch.ignore_index) {
    gradient.resize(gradient.size() + given.size());
    return;
  }
  const std::vector<double> logits = capped(batch, given);
  const LossOfRow row(logits);
  const double even = batch.label_smoothing / static_cast<double>(batch.columns);
  const double slope = 1 + 2 * batch.z_loss * static_cast<double>(row.lse());
  std::int64_t column = 0;
  for (const auto& [lower, upper] : numerics::filter_softmax(logits, row.statistics)) {
    const double share = batch.softcap == 0 ? 0 : logits[static_cast<std::size_t>(column)] / batch.softcap;
    const double hit = column++ == label ? 1 - batch.label_smoothing : 0;
    const double exact = upstream * (slope * (lower + (upper - lower) / 2) - hit - even) * (1 - share * share);
    gradient.push_back(round_to(batch.format, exact));
  }
}

}  // namespace

CriterionCase loss_case(const LossBatch& batch, const LossLogits& logit, std::vector<Comparison> comparisons) {
  CriterionCase result;
  result.call = call_of(batch, logit);
  result.call.outputs.push_back({compact_place(numerics::Format::f32, {batch.rows}), {}});
  result.expected = losses_of(batch, result.call);
  result.comparisons = std::move(comparisons);
  return result;
}

CriterionCase loss_gradient_case(const LossBatch& batch, const LossLogits& logit,
                                 const std::function<double(double loss)>& upstream,
                                 std::vector<Comparison> comparisons) {
  CriterionCase result;
  result.call = call_of(batch, logit);
  result.call.op = SOFTCHECK_OP_CROSS_ENTROPY_BACKWARD;
  result.call.roles.push_back(Role::upstream);
  const std::vector<double> losses = losses_of(batch, result.call);
  InputTensor gradients{compact_place(batch.format, {batch.rows}), {}};
  for (const double loss : losses) gradients.values.push_back(round_to(batch.format, upstream(loss)));
  const auto columns = static_cast<std::size_t>(batch.columns);
  const std::span<const double> logits(result.call.inputs[0].values);
  for (std::size_t row = 0; row < losses.size(); ++row) {
    append_gradient(batch, logits.subspan(row * columns, columns), batch.labels[row], gradients.values[row],
                    result.expected);
  }
  result.call.inputs.push_back(std::move(gradients));
  result.call.outputs.push_back({compact_place(batch.format, {batch.rows, batch.columns}), {}});
  result.row_length = columns;
  result.comparisons = std::move(comparisons);
  return result;
}

}  // namespace softcheck::proptests
