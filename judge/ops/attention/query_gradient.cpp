#include "judge/ops/attention/query_gradient.hpp"

#include <algorithm>
#include <cmath>

#include "judge/ops/rows/long_error.hpp"
#include "judge/ops/rows/softmax_bounds.hpp"
#include "numerics/formats/next_double.hpp"
#include "numerics/formats/special_values.hpp"
#include "numerics/rounding/rounding_score_terms.hpp"

namespace softcheck::proptests {

using namespace numerics;
using namespace long_error;

namespace {

LongApproximation difference(const LongApproximation& a, const LongApproximation& b) {
  const long double value = a.value - b.value;
  return {value, second_order * (a.error + b.error + unit * std::fabs(value))};
}

LongApproximation product(const LongApproximation& a, const LongApproximation& b) {
  const long double value = a.value * b.value;
  return {value, second_order * (a.error * std::fabs(b.value) + std::fabs(a.value) * b.error + a.error * b.error +
                                 unit * std::fabs(value)) +
                     lost};
}

}  // namespace

void ProductSum::add(const LongApproximation& x) {
  value_ += x.value;
  size_ += std::fabs(x.value);
  error_ += x.error;
  ++terms_;
}

void ProductSum::add(const LongApproximation& x, const LongApproximation& y) {
  const long double term = x.value * y.value;
  value_ += term;
  size_ += std::fabs(term);
  error_ += x.error * std::fabs(y.value) + (std::fabs(x.value) + x.error) * y.error;
  ++terms_;
}

LongApproximation ProductSum::total() const {
  const auto n = static_cast<long double>(terms_);
  return {value_, second_order * (error_ + (n + 1) * unit * second_order * size_) + n * lost};
}

QueryPairs::QueryPairs(const AttentionTask& task, const AttentionRow& row, std::span<const double> out_gradient,
                       const AttentionBackwardArithmetic& arithmetic, const SavedForward& saved,
                       std::optional<double> lse_gradient)
    : visible_(task.contract, row), lse_gradient_(lse_gradient), pair_of_(row.visible.size()) {
  for (std::size_t k = 0; k < visible_.keys(); ++k) pair_of_[visible_.items[k]] = k + 1;
  if (visible_.keys() == 0) return;
  std::vector<LongApproximation> products;  // sum dO v_j per pair
  for (const std::size_t j : keys()) {
    const std::span<const double> value = row.values.subspan(j * row.value_size, row.value_size);
    const DotProduct dot = dot_product(out_gradient, value, digits_for(task.contract));
    const double factor = row.factor(j);
    products.push_back(times({dot.value, dot.error}, factor));
    magnitudes_.push_back((UpperBound(above(dot.magnitude)) * UpperBound(factor)).value());
    largest_difference_ = std::fmax(largest_difference_, 2 * magnitudes_.back());
  }
  if (visible_.sink) {  // the sink's value is 0
    products.push_back({});
    magnitudes_.push_back(0);
  }
  largest_difference_ = next_above(largest_difference_ + std::fabs(lse_gradient_.value_or(0)));
  may_overflow_ = visible_.may_overflow || proptests::may_overflow(task.contract.accumulator, largest_difference_);
  const LongSoftmax softmax(visible_.scores);
  usable_ = softmax.usable();
  if (!usable_) return;
  add_pairs(softmax, products);
  add_errors(task, row, softmax, arithmetic, out_gradient, saved);
  if (row.label) subtract_label(task.contract, row);
}

void QueryPairs::subtract_label(const Contract& contract, const AttentionRow& row) {
  const std::size_t k = *pair_of(*row.label);
  score_gradients_[k] = difference(score_gradients_[k], {static_cast<long double>(*lse_gradient_), 0});
  const UpperBound upstream(std::fabs(*lse_gradient_));
  errors_[k] = label_pair_error(contract, errors_[k], upstream, size_of(score_gradients_[k]));
  sizes_[k] = next_above(sizes_[k] + upstream.value());
}

std::optional<std::size_t> QueryPairs::pair_of(std::size_t j) const {
  if (pair_of_[j] == 0) return std::nullopt;
  return pair_of_[j] - 1;
}

void QueryPairs::add_pairs(const LongSoftmax& softmax, std::span<const LongApproximation> products) {
  ProductSum sum;
  for (std::size_t k = 0; k < visible_.items.size(); ++k) {
    coefficients_.push_back(softmax.coefficient(k));
    sum.add(coefficients_[k], products[k]);
  }
  LongApproximation delta = sum.total();
  if (lse_gradient_) delta = difference(delta, {static_cast<long double>(*lse_gradient_), 0});
  for (std::size_t k = 0; k < products.size(); ++k) {
    differences_.push_back(difference(products[k], delta));
    const LongApproximation gradient = product(coefficients_[k], differences_[k]);
    bias_gradients_.push_back(gradient);
    score_gradients_.push_back(k < visible_.caps.size() ? product(gradient, visible_.caps[k].slope) : gradient);
  }
}

std::optional<SavedErrors> QueryPairs::saved_errors(const AttentionTask& task, const AttentionRow& row,
                                                    const LongSoftmax& softmax, const ProductSums& outputs,
                                                    std::span<const double> out_gradient,
                                                    const SavedForward& saved) const {
  if (saved.kind == SavedForward::Kind::exact) return std::nullopt;
  const bool own = saved.kind == SavedForward::Kind::own;
  AttentionTask of_forward = task;
  of_forward.contract.output = task.contract.input;
  std::optional<AttentionThresholds> forward;
  if (own) forward.emplace(of_forward, row, visible_);
  if (own && !forward->usable())
    return SavedErrors{UpperBound::infinity(), UpperBound::infinity(), UpperBound::infinity()};
  const auto distance = [](double got, const LongApproximation& exact) {
    const long double off = std::fabs(static_cast<long double>(got) - exact.value);
    return std::isfinite(off) ? UpperBound(above(second_order * (off + exact.error))) : UpperBound::infinity();
  };
  SavedErrors errors;
  errors.logsumexp = own ? UpperBound(forward->logsumexp().threshold) : distance(saved.lse, softmax.logsumexp());
  for (std::size_t c = 0; c < row.value_size; ++c) {
    const UpperBound off = own ? UpperBound(forward->column(c).threshold) : distance(saved.out[c], outputs.total(c));
    errors.output_sum = errors.output_sum + off;
    // A column whose gradient is 0 adds nothing, whatever its saved output is.
    if (out_gradient[c] != 0) errors.output = errors.output + UpperBound(std::fabs(out_gradient[c])) * off;
  }
  return errors;
}

void QueryPairs::add_errors(const AttentionTask& task, const AttentionRow& row, const LongSoftmax& softmax,
                            const AttentionBackwardArithmetic& arithmetic, std::span<const double> out_gradient,
                            const SavedForward& saved) {
  const ItemBounds items(softmax);
  ProductSums outputs(row.value_size, digits_for(task.contract));
  for (std::size_t k = 0; k < visible_.keys(); ++k) {
    const std::size_t j = visible_.items[k];
    outputs.add({times(coefficients_[k], row.factor(j)), 0, {}, {}},
                row.values.subspan(j * row.value_size, row.value_size));
  }
  BackwardRow bounds;
  bounds.saved = saved_errors(task, row, softmax, outputs, out_gradient, saved);
  for (std::size_t c = 0; c < row.value_size; ++c) {
    const UpperBound gradient(std::fabs(out_gradient[c]));
    bounds.output_product = bounds.output_product + gradient * size_of(outputs.total(c));
    bounds.gradient_sum = bounds.gradient_sum + gradient;
  }
  if (lse_gradient_) bounds.lse_gradient = UpperBound(std::fabs(*lse_gradient_));
  std::vector<BackwardPair> pairs;
  for (std::size_t k = 0; k < visible_.items.size(); ++k) {
    UpperBound value_sum;
    if (k < visible_.keys()) {
      const std::size_t j = visible_.items[k];
      value_sum = sum_of_magnitudes(row.values.subspan(j * row.value_size, row.value_size)) * UpperBound(row.factor(j));
    }
    pairs.push_back({items.coefficients[k], items.deviations[k], visible_.score_errors[k], size_of(differences_[k]),
                     UpperBound(magnitudes_[k]), value_sum});
    if (k < visible_.caps.size()) {
      const VisibleKeys::Cap& cap = visible_.caps[k];
      pairs.back().cap =
          cap_slope(task.contract, row.softcap, at_most(cap.slope), UpperBound(cap.magnitude), cap.score_error);
    }
    const UpperBound third = bounds.lse_gradient.value_or(UpperBound(0));
    sizes_.push_back((items.coefficients[k] * (pairs[k].difference + bounds.output_product + third)).value());
  }
  bounds.pairs = pairs;
  bounds.rescalings = rescalings_of(
      task.contract, visible_, visible_.sink ? size_with_sink(task.contract, row.visible.size()) : row.visible.size());
  bounds.log_sum = at_most(softmax.log_sum());
  bounds.lse_magnitude = size_of(softmax.logsumexp());
  // With a dropout each g and delta are multiplied by its scale: two roundings more, as two numbers more in their sums.
  AttentionBackwardArithmetic of_pairs = arithmetic;
  if (!row.kept.empty()) of_pairs.value_size += 2;
  errors_ = attention_backward_pairs(task.contract, of_pairs, bounds);
  if (!row.bias.empty() && row.softcap != 0) {
    for (BackwardPair& pair : pairs) pair.cap.reset();
    bias_errors_ = attention_backward_pairs(task.contract, of_pairs, bounds);
  }
  resolved_ = 6 * properties(task.contract.accumulator).unit_roundoff * upper(bounds.lse_magnitude) < 1;
  unbounded_ = std::ranges::any_of(errors_, [](const BackwardPairError& pair) {
    return pair.score_gradient_error.value() == infinity || pair.coefficient_log.value() == infinity;
  });
}

}  // namespace softcheck::proptests
