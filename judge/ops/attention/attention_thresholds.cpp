#include "judge/ops/attention/attention_thresholds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "judge/ops/rows/long_error.hpp"
#include "numerics/enclosures/interruption.hpp"
#include "numerics/formats/next_double.hpp"
#include "numerics/formats/special_values.hpp"
#include "numerics/rounding/rounding.hpp"
#include "numerics/rounding/rounding_score_terms.hpp"

namespace softcheck::proptests {

using namespace numerics;
using long_error::above;

namespace {

// How often a running maximum may increase: near-ties of computed scores may fall either way.
std::uint64_t possible_records(const VisibleKeys& keys, bool backwards) {
  std::uint64_t count = 0;
  long double certain = -std::numeric_limits<long double>::infinity();
  for (std::size_t k = 0; k < keys.items.size(); ++k) {
    const std::size_t j = backwards ? keys.items.size() - 1 - k : k;
    const long double error = upper(keys.score_errors[j]) + keys.scores[j].error;
    if (keys.scores[j].value + error > certain && k > 0) ++count;
    certain = std::max(certain, keys.scores[j].value - error);
  }
  return count;
}

// An enclosure as a value and an error, wider by a few ulps of long double.
LongApproximation approximation_of(const Enclosure& x) {
  const double high = x.midpoint();
  const Enclosure rest = x - Enclosure(high);
  const double low = rest.midpoint();
  const long double value = static_cast<long double>(high) + static_cast<long double>(low);
  const double error = abs(rest - Enclosure(low)).upper_double();
  return {value, error + std::fabs(high) * 0x1p-63};
}

// The error of a score after storing it; unchanged if the score is exact and a number of the format.
UpperBound as_stored(const Contract& contract, const UpperBound& error, bool exact, const LongApproximation& score) {
  if (!contract.scores) return error;
  const auto value = static_cast<double>(score.value);
  const bool fits = static_cast<long double>(value) == score.value && round_to(*contract.scores, value) == value;
  return exact && fits ? error : stored_score_error(contract, error, size_of(score));
}

// The attributes that are added to a key's score.
ScoreTerms terms_of(const AttentionRow& row, std::size_t j) {
  ScoreTerms terms;
  terms.softcap = row.softcap;
  terms.slope = row.slope;
  terms.key = static_cast<double>(j);
  if (row.slope != 0) terms.distance = row.distances[j];
  terms.has_bias = !row.bias.empty();
  if (terms.has_bias) terms.bias = row.bias[j];
  return terms;
}

double largest_of(std::span<const double> numbers) {
  double largest = 0;
  for (const double x : numbers) largest = std::max(largest, std::fabs(x));
  return largest;
}

}  // namespace

LongApproximation times(const LongApproximation& x, double factor) {
  if (factor == 1) return x;
  const auto by = static_cast<long double>(factor);
  const long double value = by * x.value;
  return {value, long_error::second_order * (std::fabs(by) * x.error + long_error::unit * std::fabs(value)) +
                     long_error::lost};
}

// A dropped weight adds nothing. What the product loses to underflow, and what the weight has lost, is the floor.
ProductSums::Factor kept_weight(const Contract& contract, double dropout_scale, const ProductSums::Factor& weight) {
  const double roundoff = properties(contract.weights.value_or(contract.accumulator)).unit_roundoff;
  const UpperBound scale(dropout_scale), unit = expm1(minus_log1m(UpperBound(roundoff)));
  return {times(weight.x, dropout_scale), 0, scale * (weight.error + unit * (size_of(weight.x) + weight.error)),
          scale * (weight.floor * (1 + unit)) + UpperBound(1)};
}

ScoreRange::ScoreRange(const Contract& contract, const AttentionRow& row)
    : factor_(largest_of(row.query)),
      scale_(std::fmax(1, std::fabs(row.scale))),
      largest_(properties(contract.accumulator).largest) {
  if (contract.scores) largest_ = std::fmin(largest_, properties(*contract.scores).largest);
  if (contract.scale == ScaleUse::stored) largest_ = std::fmin(largest_, properties(contract.input).largest);
  const double roundings = static_cast<double>(row.query.size() + 4);
  growth_ = std::exp(-roundings * std::log1p(-properties(contract.accumulator).unit_roundoff));
}

bool ScoreRange::may_be_left(std::span<const double> key, double dots, double size, double factors) const {
  return is_left(factors, dots, size) && is_left(std::max(factor_, largest_of(key)), dots, size);
}

bool ScoreRange::is_left(double factor, double dots, double size) const {
  return !(4 * growth_ * std::fmax(std::fmax(dots, size), scale_ * std::fmax(dots, factor)) < largest_);
}

std::uint64_t rescalings_of(const Contract& contract, const VisibleKeys& keys, std::size_t n) {
  // A kernel may begin with the sink, and then meet a larger first key.
  const std::uint64_t records =
      std::max(possible_records(keys, false), possible_records(keys, true)) + (keys.sink ? 1 : 0);
  if (contract.summation.kind == Summation::Kind::sequential) return records;
  const bool exact = std::ranges::all_of(keys.score_errors, [](const UpperBound& e) { return upper(e) == 0; });
  if (!exact) return std::min<std::uint64_t>(summation_height(contract, n), keys.items.size() - 1);
  std::vector<double> scores;
  for (const LongApproximation& score : keys.scores) scores.push_back(static_cast<double>(score.value));
  return rescaling_count(contract, scores);
}

EntropyDefinition definition_of(const Contract& contract) {
  return contract.entropy == EntropyForm::paper ? EntropyDefinition::paper : EntropyDefinition::exact;
}

std::uint64_t items_of(const Contract& contract, const AttentionRow& row, const VisibleKeys& keys) {
  return keys.sink ? size_with_sink(contract, row.visible.size()) : row.visible.size();
}

AttentionArithmetic arithmetic_of(const Contract& contract, const AttentionRow& row, const VisibleKeys& keys,
                                  std::uint64_t n) {
  AttentionArithmetic arithmetic;
  arithmetic.dimension = row.query.size();
  arithmetic.scale = row.scale;
  arithmetic.coefficients = contract.weights.value_or(contract.accumulator);
  const std::uint64_t summands = std::max<std::size_t>(keys.keys(), 1) - 1;  // a sink has no value
  arithmetic.value_sum_height = std::min(summation_height(contract, n), summands);
  return arithmetic;
}

VisibleKeys::VisibleKeys(const Contract& contract, const AttentionRow& row, Digits digits)
    : digits_(digits), query_sum_(sum_of_magnitudes(row.query)) {
  const ScoreRange range(contract, row);
  items.reserve(row.visible.size());
  scores.reserve(row.visible.size());
  score_errors.reserve(row.visible.size());
  for (std::size_t j = 0; j < row.visible.size(); ++j) {
    if (row.visible[j] != 0) add_score(contract, row, range, j);
  }
  if (row.sink) add_sink(contract, row);
}

double VisibleKeys::largest_computed() const {
  double error = 0;
  for (const UpperBound& one : score_errors) error = std::fmax(error, upper(one));
  return next_above(largest_dot + error);
}

void VisibleKeys::add_score(const Contract& contract, const AttentionRow& row, const ScoreRange& range, std::size_t j) {
  throw_if_interrupted();
  const std::size_t d = row.query.size();
  items.push_back(j);
  const std::span<const double> key = d == 0 ? row.query : row.keys.subspan(j * d, d);
  const DotProduct dot = dot_product(row.query, key, digits_);
  // May be infinite as a double: then the kernel's own sum overflows. After scaling it may be small again.
  const double dots = dot.magnitude == 0 ? 0 : above(dot.magnitude);
  const bool exact = score_is_exact(contract, row.scale, row.query, key);
  const long double scale = static_cast<long double>(row.scale);
  const long double scaled = std::fabs(scale) * dot.magnitude * long_error::second_order;
  // Includes the rounding of the product with the scale.
  const long double off = std::fabs(scale) * (dot.error + long_error::unit * dot.magnitude);
  const LongApproximation score{scale * dot.value, exact ? 0 : long_error::second_order * off};
  const UpperBound factors = query_sum_ + sum_of_magnitudes(key);
  const AttentionArithmetic arithmetic{.dimension = d, .scale = row.scale, .factor_sum = factors.value()};
  const UpperBound error = exact ? UpperBound(0) : score_error<UpperBound>(contract, arithmetic, UpperBound(dots));
  double size = scaled == 0 ? 0 : above(scaled);
  if (row.has_terms()) {
    const ScoreTerms terms = terms_of(row, j);
    const LongApproximation capped = capped_score(score, row.softcap);
    if (row.softcap != 0) {
      const UpperBound relative = error * UpperBound(next_above(1 / row.softcap));
      caps.push_back({capped_slope(score, row.softcap), next_above(size_of(capped).value() / row.softcap), relative});
    }
    scores.push_back(shifted_score(capped, terms.slope, terms.distance, terms.bias));
    score_errors.push_back(attributed_score_error(contract, terms, error, size_of(capped), size_of(scores.back())));
    size += std::fabs(terms.slope) * terms.distance + std::fabs(terms.bias);
  } else {
    scores.push_back(score);
    score_errors.push_back(as_stored(contract, error, exact, score));
  }
  largest_dot = std::max(largest_dot, size);
  may_overflow = may_overflow || range.may_be_left(key, dots, size, factors.value());
}

void VisibleKeys::add_sink(const Contract& contract, const AttentionRow& row) {
  sink = true;
  items.push_back(row.visible.size());
  scores.push_back({static_cast<long double>(*row.sink), 0});
  score_errors.push_back(sink_error<UpperBound>(contract, *row.sink));
  largest_dot = std::max(largest_dot, std::fabs(*row.sink));
}

AttentionThresholds::AttentionThresholds(const AttentionTask& task, const AttentionRow& row, const VisibleKeys& visible)
    : row_(row), visible_(visible), contract_(task.contract), scalars_(task.scalars) {
  LongSoftmax plain(visible.scores);
  if (!plain.usable()) return;
  if (task.op->adaptive) {
    const bool paper = definition_of(task.contract) == EntropyDefinition::paper;
    const Enclosure entropy = (paper ? plain.entropy_with_epsilon() : plain.entropy()).enclosure();
    const LongApproximation beta = approximation_of(inverse_temperature(entropy));
    weights_ = plain.sharpened(beta);
    if (!weights_->usable()) return;
    set_thresholds(task, plain);
  } else {
    weights_ = std::move(plain);
    set_thresholds(task, *weights_);
  }
}

void AttentionThresholds::set_thresholds(const AttentionTask& task, const LongSoftmax& plain) {
  const Contract& contract = task.contract;
  const std::uint64_t n = items_of(contract, row_, visible_);
  // m and sum p x, or L and sum p x, round twice each.
  const double roundoff = properties(contract.accumulator).unit_roundoff;
  if (!contract.has_centred_entropy()) cancelled_ = 4 * roundoff * visible_.largest_dot;
  const std::uint64_t rescalings = rescalings_of(contract, visible_, n);
  const auto complete = [&](RowStatistics<Bound> statistics) {
    statistics.size = n;
    statistics.rescalings = rescalings;
    return statistics;
  };
  scores_ = {complete(score_statistics(plain)), ItemBounds(plain)};
  if (task.op->adaptive) sharpened_ = {complete(score_statistics(*weights_)), ItemBounds(*weights_)};
  threshold_.emplace(threshold_with(Grants::all));
}

AttentionThreshold<UpperBound> AttentionThresholds::threshold_with(Grants grants) const {
  const AttentionArithmetic arithmetic = arithmetic_of(contract_, row_, visible_, scores_->statistics.size);
  if (!sharpened_) return {contract_, arithmetic, scores_->row(), visible_.score_errors, grants};
  const Bound beta(2.43);  // an upper bound: P is 2.42139 at its largest
  return {contract_, arithmetic, scores_->row(), sharpened_->row(), beta, visible_.score_errors, grants};
}

const AttentionThreshold<UpperBound>& AttentionThresholds::without_grants() const {
  if (!without_grants_) without_grants_.emplace(threshold_with(Grants::none));
  return *without_grants_;
}

double AttentionThresholds::sum_resolution() const {
  // The computed sharpened scores depend on the grants, so take the threshold without them.
  const double error = upper(sharpened_ ? without_grants().sum_error() : threshold_->sum_error(Grants::none));
  return error < 1 ? error : 0;
}

// The bounds of a product: a term's error, and 1 for the sum of the values' magnitudes. A sink has no value.
const ProductSums& AttentionThresholds::outputs() const {
  if (outputs_) return *outputs_;
  outputs_.emplace(row_.value_size, digits_for(contract_));
  for (std::size_t k = 0; k < visible_.keys(); ++k) {
    const LongApproximation weight = weights_->coefficient(k);
    ProductSums::Factor factor{weight, 0, threshold_->term_errors()[k], Bound(1)};
    if (!row_.kept.empty()) {
      if (row_.factor(visible_.items[k]) == 0) continue;
      factor = kept_weight(contract_, row_.dropout_scale, factor);
    }
    outputs_->add(factor, row_.values.subspan(visible_.items[k] * row_.value_size, row_.value_size));
  }
  return *outputs_;
}

Judgeable AttentionThresholds::column(std::size_t column) const {
  const ProductSums& sums = outputs();
  Judgeable result;
  result.exact = sums.total(column);
  result.magnitude = sums.size(column);
  const Bound output = size_of(result.exact);
  result.threshold = upper(threshold_->column(sums.error(column), sums.floor(column), output).total());
  // Only compute the threshold without grants if the one with grants, which is larger, is vacuous.
  result.vacuous = is_vacuous(result.threshold, result.magnitude) &&
                   is_vacuous(upper(without_grants().column(sizes(column), output).rounding), result.magnitude);
  return result;
}

std::vector<UpperBound> AttentionThresholds::sizes(std::size_t column) const {
  std::vector<Bound> sizes(visible_.items.size(), Bound(0));
  for (std::size_t k = 0; k < visible_.keys(); ++k) {
    const std::size_t j = visible_.items[k];
    sizes[k] = Bound(std::fabs(row_.values[j * row_.value_size + column])) * Bound(row_.factor(j));
  }
  return sizes;
}

Judgeable AttentionThresholds::logsumexp() const {
  Judgeable result;
  result.exact = weights_->logsumexp();
  result.threshold = upper(threshold_->logsumexp(scalars_).total());
  // The maximum and ln S may cancel, and so may the products in a score.
  result.magnitude = visible_.largest_dot + static_cast<double>(weights_->log_sum().value);
  result.resolution = sum_resolution();
  result.vacuous = is_vacuous(result.threshold, result.magnitude) &&
                   is_vacuous(upper(without_grants().logsumexp(scalars_).rounding), result.magnitude);
  return result;
}

Judgeable AttentionThresholds::entropy() const {
  Judgeable result;
  result.exact = weights_->entropy();
  result.threshold = upper(threshold_->entropy(scalars_).total());
  result.magnitude = static_cast<double>(result.exact.value);
  result.resolution = sum_resolution() + cancelled_;
  result.vacuous = is_vacuous(result.threshold, result.magnitude) &&
                   is_vacuous(upper(without_grants().entropy(scalars_).rounding), result.magnitude);
  return result;
}

double AttentionThresholds::entropy_undershoot() const { return upper(threshold_->undershoot(scalars_)); }

}  // namespace softcheck::proptests
