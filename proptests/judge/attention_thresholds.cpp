#include "proptests/judge/attention_thresholds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "numerics/rounding.hpp"
#include "numerics/special_values.hpp"

namespace softcheck::proptests {

using namespace numerics;

namespace {

UpperBound at_most(const LongApproximation& x) {
  return UpperBound(std::max(0.0, std::nextafter(static_cast<double>(x.value), infinity))) + UpperBound(x.error);
}

UpperBound size_of(const LongApproximation& x) { return at_most({std::fabs(x.value), x.error}); }

// The statistics that the bounds need, but for n and R, of the scores that a softmax is of.
RowStatistics<UpperBound> score_statistics(const LongSoftmax& row) {
  RowStatistics<UpperBound> result;
  result.visible = row.size();
  result.log_sum = at_most(row.log_sum());
  result.mean_deviation = at_most(row.mean_deviation());
  result.mean_square_deviation = at_most(row.mean_square_deviation());
  result.maximum_magnitude = size_of(row.maximum());
  result.logsumexp_magnitude = size_of(row.logsumexp());
  result.largest_magnitude = result.maximum_magnitude;
  for (std::size_t j = 0; j < row.size(); ++j) {
    const LongApproximation deviation = row.deviation(j), maximum = row.maximum();
    result.largest_magnitude = numerics::maximum(
        result.largest_magnitude, size_of({maximum.value - deviation.value, maximum.error + deviation.error}));
  }
  return result;
}

// How often a running maximum may grow: over computed scores, near-ties may fall either way.
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

std::uint64_t rescalings_of(const Contract& contract, const VisibleKeys& keys, std::size_t n) {
  const std::uint64_t records = std::max(possible_records(keys, false), possible_records(keys, true));
  if (contract.summation.kind == Summation::Kind::sequential) return records;
  const bool exact = std::ranges::all_of(keys.score_errors, [](const UpperBound& e) { return upper(e) == 0; });
  if (!exact) return std::min<std::uint64_t>(summation_height(contract, n), keys.items.size() - 1);
  std::vector<double> scores;
  for (const LongApproximation& score : keys.scores) scores.push_back(static_cast<double>(score.value));
  return rescaling_count(contract, scores);
}

// An enclosure as a number and its error; a few units of long double wider.
LongApproximation approximation_of(const Enclosure& x) {
  const double high = x.midpoint();
  const Enclosure rest = x - Enclosure(high);
  const double low = rest.midpoint();
  const long double value = static_cast<long double>(high) + static_cast<long double>(low);
  const double error = abs(rest - Enclosure(low)).upper_double();
  return {value, error + std::fabs(high) * 0x1p-63};
}

struct Bounds {
  std::vector<UpperBound> coefficients, deviations;

  explicit Bounds(const LongSoftmax& row) {
    for (std::size_t j = 0; j < row.size(); ++j) {
      coefficients.push_back(at_most(row.coefficient(j)));
      deviations.push_back(at_most(row.deviation(j)));
    }
  }
};

}  // namespace

namespace {

// The error of a score once it is stored; none where it is exact and a number of the format.
UpperBound as_stored(const Contract& contract, const UpperBound& error, bool exact, const LongApproximation& score) {
  if (!contract.scores) return error;
  const auto value = static_cast<double>(score.value);
  const bool fits = static_cast<long double>(value) == score.value && round_to(*contract.scores, value) == value;
  return exact && fits ? error : stored_score_error(contract, error, size_of(score));
}

}  // namespace

EntropyDefinition definition_of(const Contract& contract) {
  return contract.entropy == EntropyForm::paper ? EntropyDefinition::paper : EntropyDefinition::exact;
}

VisibleKeys::VisibleKeys(const Contract& contract, const AttentionRow& row) {
  const std::size_t d = row.query.size();
  for (std::size_t j = 0; j < row.visible.size(); ++j) {
    if (row.visible[j] == 0) continue;
    items.push_back(j);
    const std::span<const double> key = d == 0 ? row.query : row.keys.subspan(j * d, d);
    long double dot = 0;
    double magnitude = 0;
    AttentionArithmetic arithmetic{.dimension = d, .scale = row.scale};
    for (std::size_t t = 0; t < d; ++t) {
      const long double product = static_cast<long double>(row.query[t]) * static_cast<long double>(key[t]);
      dot += product;
      magnitude += std::fabs(static_cast<double>(product));
      arithmetic.factor_sum += std::fabs(row.query[t]) + std::fabs(key[t]);
    }
    // A sum of d doubles errs by less than d 2^-52 of itself.
    const double dots = magnitude * (1 + static_cast<double>(d + 1) * 0x1p-52);
    const bool exact = score_is_exact(contract, row.scale, row.query, key);
    const double roundings = 1.01 * static_cast<double>(d + 1) * 0x1p-64;
    scores.push_back({static_cast<long double>(row.scale) * dot, exact ? 0 : roundings * std::fabs(row.scale) * dots});
    arithmetic.factor_sum *= 1 + static_cast<double>(2 * d) * 0x1p-52;
    const UpperBound error = exact ? UpperBound(0) : score_error<UpperBound>(contract, arithmetic, UpperBound(dots));
    score_errors.push_back(as_stored(contract, error, exact, scores.back()));
    largest_dot = std::max(largest_dot, std::fabs(row.scale) * dots);
  }
}

AttentionThresholds::AttentionThresholds(const AttentionTask& task, const AttentionRow& row, const VisibleKeys& visible)
    : row_(row), visible_(visible), scalars_(task.scalars) {
  const LongSoftmax plain(visible.scores);
  if (!plain.usable()) return;
  weights_ = plain;
  if (task.op->adaptive) {
    const bool paper = definition_of(task.contract) == EntropyDefinition::paper;
    const Enclosure entropy = (paper ? plain.entropy_with_epsilon() : plain.entropy()).enclosure();
    const LongApproximation beta = approximation_of(inverse_temperature(entropy));
    weights_ = plain.sharpened(beta);
    if (!weights_->usable()) return;
  }
  set_thresholds(task, plain);
}

void AttentionThresholds::set_thresholds(const AttentionTask& task, const LongSoftmax& plain) {
  const Contract& contract = task.contract;
  const std::size_t n = row_.visible.size();
  // m and sum p x, or L and sum p x: two roundings of each.
  const double roundoff = properties(contract.accumulator).unit_roundoff;
  if (contract.entropy_from != EntropyFrom::deviations) cancelled_ = 4 * roundoff * visible_.largest_dot;
  AttentionArithmetic arithmetic;
  arithmetic.dimension = row_.query.size();
  arithmetic.scale = row_.scale;
  arithmetic.coefficients = contract.weights.value_or(contract.accumulator);
  arithmetic.value_sum_height = std::min<std::uint64_t>(summation_height(contract, n), visible_.items.size() - 1);
  const auto complete = [&](RowStatistics<Bound> statistics) {
    statistics.size = n;
    statistics.rescalings = rescalings_of(contract, visible_, n);
    return statistics;
  };
  const Bounds plain_bounds(plain);
  const ScoreRow<Bound> scores{complete(score_statistics(plain)), plain_bounds.coefficients, plain_bounds.deviations};
  if (!task.op->adaptive) {
    threshold_.emplace(contract, arithmetic, scores, visible_.score_errors);
    without_grants_.emplace(contract, arithmetic, scores, visible_.score_errors, Grants::none);
    return;
  }
  const Bounds bounds(*weights_);
  const ScoreRow<Bound> sharpened{complete(score_statistics(*weights_)), bounds.coefficients, bounds.deviations};
  const Bound beta(2.43);  // never more: P is 2.42139 at its largest
  threshold_.emplace(contract, arithmetic, scores, sharpened, beta, visible_.score_errors);
  without_grants_.emplace(contract, arithmetic, scores, sharpened, beta, visible_.score_errors, Grants::none);
}

Judgeable AttentionThresholds::column(std::size_t column) const {
  std::vector<double> values;
  std::vector<Bound> sizes;
  for (const std::size_t j : visible_.items) {
    values.push_back(row_.values[j * row_.value_size + column]);
    sizes.emplace_back(std::fabs(values.back()));
  }
  Judgeable result;
  result.exact = weights_->weighted(values, result.magnitude);
  const Bound output = size_of(result.exact);
  result.threshold = upper(threshold_->column(sizes, output).total());
  result.vacuous = is_vacuous(upper(without_grants_->column(sizes, output).rounding), result.magnitude);
  return result;
}

Judgeable AttentionThresholds::logsumexp() const {
  Judgeable result;
  result.exact = weights_->logsumexp();
  result.threshold = upper(threshold_->logsumexp(scalars_).total());
  // The maximum and ln S may cancel, and so may the products that a score is made of.
  result.magnitude = visible_.largest_dot + static_cast<double>(weights_->log_sum().value);
  result.resolution = upper(without_grants_->sum_error());
  if (!(result.resolution < 1)) result.resolution = 0;
  result.vacuous = is_vacuous(upper(without_grants_->logsumexp(scalars_).rounding), result.magnitude);
  return result;
}

Judgeable AttentionThresholds::entropy() const {
  Judgeable result;
  result.exact = weights_->entropy();
  result.threshold = upper(threshold_->entropy(scalars_).total());
  result.magnitude = static_cast<double>(result.exact.value);
  result.resolution = upper(without_grants_->sum_error());
  if (!(result.resolution < 1)) result.resolution = 0;
  result.resolution += cancelled_;
  result.vacuous = is_vacuous(upper(without_grants_->entropy(scalars_).rounding), result.magnitude);
  return result;
}

double AttentionThresholds::entropy_undershoot() const { return upper(threshold_->undershoot(scalars_)); }

}  // namespace softcheck::proptests
