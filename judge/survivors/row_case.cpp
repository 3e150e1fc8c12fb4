#include "judge/survivors/row_case.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <stdexcept>
#include <utility>

#include "judge/op/op.hpp"
#include "numerics/filter/row_filter.hpp"

namespace softcheck::proptests {
namespace {

using numerics::Format;
using numerics::round_to;

// The indices of the values in descending order; of equal values the lower index first.
std::vector<std::size_t> descending(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return values[a] > values[b]; });
  return order;
}

std::vector<double> log_softmax_of(const std::vector<double>& logits, const numerics::FilterStatistics& statistics) {
  std::vector<double> values;
  for (const double x : logits) {
    values.push_back((x - statistics.maximum) / statistics.theta - std::log1p(statistics.sum_minus_one.value));
  }
  return values;
}

std::vector<double> top_p_of(const std::vector<double>& logits, double top_p) {
  const std::vector<double> p = exact_coefficients(logits);
  std::vector<double> result(logits.size());
  const std::vector<std::size_t> order = descending(logits);
  long double mass = 0;
  std::size_t chosen = 0;
  while (chosen < order.size() && mass < top_p) mass += p[order[chosen++]];
  for (std::size_t k = 0; k < chosen; ++k) result[order[k]] = static_cast<double>(p[order[k]] / mass);
  return result;
}

std::vector<double> sparsemax_of(const std::vector<double>& logits) {
  const std::vector<std::size_t> order = descending(logits);
  long double sum = 0, tau = 0;
  for (std::size_t k = 0; k < order.size(); ++k) {
    const long double next = sum + logits[order[k]];
    if (1 + static_cast<long double>(k + 1) * logits[order[k]] <= next) break;
    sum = next;
    tau = (sum - 1) / static_cast<long double>(k + 1);
  }
  std::vector<double> result;
  for (const double x : logits) result.push_back(static_cast<double>(std::max(x - tau, 0.0L)));
  return result;
}

// The weights of the k largest; appends their ids to `ids`.
std::vector<double> topk_of(const LogitMatrix& matrix, const std::vector<double>& logits, std::vector<double>& ids) {
  const std::vector<double> p = exact_coefficients(logits);
  std::vector<std::size_t> largest = descending(p);
  largest.resize(static_cast<std::size_t>(matrix.k));
  double sum = 0;
  for (const std::size_t id : largest) sum += p[id];
  std::vector<double> weights;
  for (const std::size_t id : largest) {
    weights.push_back(matrix.renormalize ? p[id] / sum : p[id]);
    ids.push_back(static_cast<double>(id));
  }
  return weights;
}

std::vector<double> values_of(const LogitMatrix& matrix, const std::vector<double>& logits, std::vector<double>& ids) {
  if (matrix.op == "top_p_softmax") return top_p_of(logits, matrix.top_p);
  if (matrix.op == "sparsemax") return sparsemax_of(logits);
  if (matrix.op == "topk_softmax") return topk_of(matrix, logits, ids);
  const numerics::FilterStatistics statistics = numerics::filter_row(logits, matrix.theta);
  if (statistics.visible == 0) throw std::invalid_argument("softmax_case: need a visible logit in every row");
  if (matrix.op == "softmax") return exact_coefficients(logits, matrix.theta);
  if (matrix.op == "log_softmax") return log_softmax_of(logits, statistics);
  if (matrix.op == "logsumexp") return {statistics.maximum / matrix.theta + std::log1p(statistics.sum_minus_one.value)};
  throw std::invalid_argument("softmax_case: need an op of logits, got '" + matrix.op + "'");
}

TensorPlace place_of(const LogitMatrix& matrix, std::int64_t row_stride) {
  TensorPlace place = plain_place(matrix.format, {matrix.rows, matrix.columns});
  if (row_stride > matrix.columns) place.strides = {row_stride, 1};
  return place;
}

// Sets what a version 1 call cannot say.
void set_version_2(const LogitMatrix& matrix, TensorCall& call) {
  if (matrix.op == "top_p_softmax") call.op = SOFTCHECK_OP_TOP_P_SOFTMAX;
  if (matrix.op == "sparsemax") call.op = SOFTCHECK_OP_SPARSEMAX;
  if (matrix.op == "topk_softmax") call.op = SOFTCHECK_OP_TOPK_SOFTMAX;
  if (call.op != 0) call.roles = {Role::logits};
  call.attributes.top_p = matrix.top_p;
  call.attributes.k = matrix.k;
  call.attributes.renormalize = matrix.renormalize;
}

TensorCall call_of(const LossBatch& batch, const LossLogits& logit) {
  InputTensor logits{plain_place(batch.format, {batch.rows, batch.columns}), {}};
  for (std::int64_t i = 0; i < batch.rows * batch.columns; ++i)
    logits.values.push_back(round_to(batch.format, logit()));
  InputTensor labels{plain_place(std::nullopt, {batch.rows}, 64), {}};
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

// The terms of a row's loss and gradient, in long double, because a loss near 0 is a small difference.
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

TensorPlace plain_place(std::optional<Format> format, std::vector<std::int64_t> shape, int integer_bits) {
  TensorPlace place;
  place.format = format;
  place.shape = std::move(shape);
  place.integer_bits = integer_bits;
  place.against_the_end = false;
  return place;
}

std::vector<double> exact_coefficients(const std::vector<double>& scores, double theta) {
  std::vector<double> values;
  for (const auto& [lower, upper] : numerics::filter_softmax(scores, numerics::filter_row(scores, theta))) {
    values.push_back(lower + (upper - lower) / 2);
  }
  return values;
}

std::int64_t rows_taken(std::int64_t published, std::int64_t columns) {
  return std::min(published, std::max<std::int64_t>(2, (std::int64_t{1} << 16) / columns));
}

CriterionCase softmax_case(const LogitMatrix& matrix, const LogitSource& logit, std::vector<Comparison> comparisons) {
  CriterionCase result;
  InputTensor logits{place_of(matrix, matrix.input_stride), {}};
  std::vector<double> ids;
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    std::vector<double> of_row;
    for (std::int64_t column = 0; column < matrix.columns; ++column) {
      of_row.push_back(round_to(matrix.format, logit(row, column)));
    }
    for (const double exact : values_of(matrix, of_row, ids)) result.expected.push_back(round_to(matrix.format, exact));
    logits.values.insert(logits.values.end(), of_row.begin(), of_row.end());
  }
  TensorPlace output = place_of(matrix, matrix.output_stride);
  if (matrix.op == "logsumexp") output.shape.pop_back();
  if (matrix.k > 0) output.shape.back() = matrix.k;
  result.row_length = result.expected.size() / static_cast<std::size_t>(matrix.rows);
  result.call.inputs.push_back(std::move(logits));
  result.call.outputs.push_back({output, {}});
  if (matrix.k > 0) {
    result.call.outputs.push_back({plain_place(std::nullopt, output.shape), {}});
    result.others = {{std::move(ids), {{Comparison::Rule::allclose, 0, 0}}}};
  }
  result.call.theta = matrix.theta;
  set_version_2(matrix, result.call);
  result.comparisons = std::move(comparisons);
  return result;
}

CriterionCase softmax_gradient_case(Draw& draw, const LogitMatrix& matrix, std::vector<Comparison> comparisons) {
  const auto round = [&](double x) { return round_to(matrix.format, x); };
  InputTensor saved{place_of(matrix, 0), {}}, upstream = saved;
  CriterionCase result;
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    std::vector<double> logits, g;
    for (std::int64_t i = 0; i < matrix.columns; ++i) logits.push_back(round(draw.normal()));
    for (std::int64_t i = 0; i < matrix.columns; ++i) g.push_back(round(draw.normal()));
    std::vector<double> y = exact_coefficients(logits);
    std::ranges::transform(y, y.begin(), round);
    long double mean = 0;
    for (std::size_t i = 0; i < y.size(); ++i) mean += static_cast<long double>(y[i]) * g[i];
    for (std::size_t i = 0; i < y.size(); ++i) {
      result.expected.push_back(round(static_cast<double>(y[i] * (g[i] - mean))));
    }
    saved.values.insert(saved.values.end(), y.begin(), y.end());
    upstream.values.insert(upstream.values.end(), g.begin(), g.end());
  }
  result.call.op = SOFTCHECK_OP_SOFTMAX_BACKWARD;
  result.call.roles = {Role::saved, Role::out_gradient};
  result.call.outputs.push_back({saved.place, {}});
  result.call.inputs = {std::move(saved), std::move(upstream)};
  result.row_length = static_cast<std::size_t>(matrix.columns);
  result.comparisons = std::move(comparisons);
  return result;
}

CriterionCase merge_case(const PartialStates& states, const std::function<double()>& value,
                         std::vector<Comparison> comparisons) {
  const auto rows = static_cast<std::size_t>(states.rows), dim = static_cast<std::size_t>(states.dim);
  const auto parts = static_cast<std::size_t>(states.parts);
  InputTensor out{plain_place(states.format, {states.parts, states.rows, states.dim}), {}};
  for (std::size_t i = 0; i < parts * rows * dim; ++i) out.values.push_back(round_to(states.format, value()));
  CriterionCase result;
  std::vector<double> merged;
  for (std::size_t row = 0; row < rows; ++row) {
    std::vector<double> lse;
    for (std::size_t part = 0; part < parts; ++part) lse.push_back(states.lse[part * rows + row]);
    const numerics::FilterStatistics statistics = numerics::filter_row(lse);
    if (statistics.visible == 0) throw std::invalid_argument("merge_case: need a part that is not empty in every row");
    const std::vector<double> weights = exact_coefficients(lse);
    for (std::size_t c = 0; c < dim; ++c) {
      double sum = 0;
      for (std::size_t part = 0; part < parts; ++part) sum += weights[part] * out.values[(part * rows + row) * dim + c];
      result.expected.push_back(round_to(states.format, sum));
    }
    merged.push_back(statistics.maximum + std::log1p(statistics.sum_minus_one.value));
  }
  result.call.inputs = {std::move(out), {plain_place(Format::f32, {states.parts, states.rows}), states.lse}};
  result.call.outputs = {{plain_place(states.format, {states.rows, states.dim}), {}},
                         {plain_place(Format::f32, {states.rows}), {}}};
  result.call.op = SOFTCHECK_OP_MERGE_STATES;
  result.call.roles = {Role::out, Role::lse};
  result.others = {{std::move(merged), comparisons}};
  result.row_length = dim;
  result.comparisons = std::move(comparisons);
  return result;
}

CriterionCase loss_case(const LossBatch& batch, const LossLogits& logit, std::vector<Comparison> comparisons) {
  CriterionCase result;
  result.call = call_of(batch, logit);
  result.call.outputs.push_back({plain_place(numerics::Format::f32, {batch.rows}), {}});
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
  InputTensor gradients{plain_place(batch.format, {batch.rows}), {}};
  for (const double loss : losses) gradients.values.push_back(round_to(batch.format, upstream(loss)));
  const auto columns = static_cast<std::size_t>(batch.columns);
  const std::span<const double> logits(result.call.inputs[0].values);
  for (std::size_t row = 0; row < losses.size(); ++row) {
    append_gradient(batch, logits.subspan(row * columns, columns), batch.labels[row], gradients.values[row],
                    result.expected);
  }
  result.call.inputs.push_back(std::move(gradients));
  result.call.outputs.push_back({plain_place(batch.format, {batch.rows, batch.columns}), {}});
  result.row_length = columns;
  result.comparisons = std::move(comparisons);
  return result;
}

}  // namespace softcheck::proptests
