#include "judge/results/exact_query.hpp"

#include <cmath>
#include <vector>

#include "judge/ops/attention/attention_thresholds.hpp"
#include "judge/ops/rows/row_elements.hpp"
#include "numerics/formats/special_values.hpp"
#include "numerics/oracles/adaptive_oracle.hpp"

namespace softcheck::proptests {

using namespace numerics;

namespace {

// scale <q, k_j>; nothing if it exceeds the doubles.
std::optional<Enclosure> score_of(const AttentionRow& row, std::size_t j) {
  PairedSums dot(1);
  for (std::size_t t = 0; t < row.query.size(); ++t) dot.add(row.query[t], &row.keys[j * row.query.size() + t]);
  const Enclosure score = Enclosure(row.scale) * dot.sum(0);
  const bool bounded = std::isfinite(score.lower_double()) && std::isfinite(score.upper_double());
  return bounded ? std::optional(score) : std::nullopt;
}

std::optional<EnclosedRow> weights_of(const AttentionTask& task, const AttentionRow& row,
                                      std::span<const std::size_t> items) {
  // The oracles handle these.
  const bool of_softmax = !task.op->sigmoid && !task.op->differential;
  if (row.has_terms() || row.sink || !of_softmax || !row.kept.empty()) return std::nullopt;
  std::vector<std::optional<Enclosure>> scores;
  for (const std::size_t j : items) {
    scores.push_back(score_of(row, j));
    if (!scores.back()) return std::nullopt;
  }
  const EnclosedRow plain(std::move(scores));
  if (!task.op->adaptive) return plain;
  const bool paper = definition_of(task.contract) == EntropyDefinition::paper;
  return plain.scaled(inverse_temperature(paper ? entropy_with_epsilon(plain) : plain.entropy()));
}

}  // namespace

ExactQuery::ExactQuery(const AttentionTask& task, const AttentionRow& row, std::span<const std::size_t> items)
    : task_(task), row_(row), items_(items), weights_(weights_of(task, row, items)) {}

DoubleBounds ExactQuery::refined(const std::optional<Enclosure>& near, AttentionClaim claim, std::size_t column) {
  if (near && is_narrow(*near)) return bounds_of(*near);
  if (!oracles_) oracles_.emplace(task_, row_, items_);
  DoubleBounds bounds;
  for (const unsigned precision : {113u, 256u}) {
    const PrecisionScope scope(precision);
    const Enclosure value = oracles_->value(claim, column);
    bounds = bounds_of(value);
    if (is_narrow(value)) break;
  }
  return bounds;
}

DoubleBounds ExactQuery::logsumexp() {
  return refined(weights_ ? std::optional(weights_->logsumexp()) : std::nullopt, AttentionClaim::lse, 0);
}

DoubleBounds ExactQuery::entropy() {
  return refined(weights_ ? std::optional(weights_->entropy()) : std::nullopt, AttentionClaim::entropy, 0);
}

void ExactQuery::output(std::span<DoubleBounds> columns) {
  // Splits each weight into two doubles; the rest of its enclosure is multiplied by |v| and summed in `left`.
  PairedSums sums(columns.size()), lows(columns.size());
  std::vector<double> left(columns.size(), 0);
  bool usable = weights_.has_value();
  for (std::size_t k = 0; usable && k < items_.size(); ++k) {
    const Enclosure weight = weights_->softmax(k);
    const double high = weight.midpoint();
    // The scores' errors may be so large that a weight's midpoint is no double.
    usable = std::isfinite(high);
    if (!usable) break;
    const double low = (weight - Enclosure(high)).midpoint();
    const double rest = abs(weight - Enclosure(high) - Enclosure(low)).upper_double();
    const double* values = row_.values.data() + items_[k] * row_.value_size;
    sums.add(high, values);
    lows.add(low, values);
    for (std::size_t c = 0; c < columns.size(); ++c) left[c] += rest * std::fabs(values[c]);
  }
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (!usable) {
      columns[c] = refined(std::nullopt, AttentionClaim::output, c);
      continue;
    }
    // Each product and addition of `left` rounds once, and may underflow.
    const double error = left[c] * (1 + static_cast<double>(items_.size() + 2) * 0x1p-52) +
                         static_cast<double>(items_.size()) * 0x1p-1072;
    const Enclosure around =
        std::isfinite(error) ? Enclosure::between(-error, error) : Enclosure::between(-infinity, infinity);
    columns[c] = refined(sums.sum(c) + lows.sum(c) + around, AttentionClaim::output, c);
  }
}

void PairedSums::add(double factor, const double* values) {
  ++products_;
  for (std::size_t k = 0; k < high_.size(); ++k) {
    const double product = factor * values[k], rest = std::fma(factor, values[k], -product);
    const double sum = high_[k] + product, part = sum - high_[k];
    low_[k] += ((high_[k] - (sum - part)) + (product - part)) + rest;
    high_[k] = sum;
    magnitude_[k] += std::fabs(product);
  }
}

numerics::Enclosure PairedSums::sum(std::size_t k) const {
  using numerics::Enclosure;
  const auto n = static_cast<double>(products_);
  const double error = 1.02 * (n + 1) * (n + 1) * 0x1p-106 * magnitude_[k] + n * 0x1p-1072;
  if (!std::isfinite(high_[k] + low_[k] + error)) {
    return Enclosure::between(-numerics::infinity, numerics::infinity);
  }
  return Enclosure(high_[k]) + Enclosure(low_[k]) + Enclosure::between(-error, error);
}

}  // namespace softcheck::proptests
