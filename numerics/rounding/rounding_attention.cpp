// B9: attention, by the theorems' formulas (theorem_attention_bounds.hpp) for given scores and errors. Proof:
// docs/tolerances.md.

#include "numerics/rounding/rounding_attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>

#include "numerics/enclosures/ulp.hpp"
#include "numerics/formats/fp_environment.hpp"
#include "numerics/formats/special_values.hpp"

namespace softcheck::numerics {
namespace {

Enclosure sum(std::span<const Enclosure> a) { return std::accumulate(a.begin(), a.end(), Enclosure(0)); }
Enclosure dot(std::span<const Enclosure> a, std::span<const Enclosure> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), Enclosure(0));
}

template <class T>
struct ScoreErrors {
  T largest{};
  T mean{};            // sum p_j e_j
  T mean_deviation{};  // sum p_j e_j D_j
};

template <class T>
ScoreErrors<T> summarize(const ScoreRow<T>& row, std::span<const T> score_errors, const T& factor) {
  ScoreErrors<T> result;
  for (std::size_t j = 0; j < row.coefficients.size(); ++j) {
    if (upper(row.coefficients[j]) == 0) continue;
    const T error = factor * score_errors[j];
    result.largest = maximum(result.largest, error);
    const T weighted = row.coefficients[j] * error;
    result.mean = result.mean + weighted;
    result.mean_deviation = result.mean_deviation + weighted * row.deviations[j];
  }
  return result;
}

// Bounds for the computed scores from the exact ones: every D moves by at most 2 e_max.
template <class T>
formulas::attention::scores::ScoreBounds<T> perturbed(const RowStatistics<T>& row, const ScoreErrors<T>& errors) {
  formulas::attention::scores::Quantities<T> q;
  q.log_sum = row.log_sum;
  q.mean_deviation = row.mean_deviation;
  q.mean_square_deviation = row.mean_square_deviation;
  q.maximum_magnitude = row.maximum_magnitude;
  q.logsumexp_magnitude = row.logsumexp_magnitude;
  q.largest_error = errors.largest;
  q.mean_error = errors.mean;
  q.mean_error_deviation = errors.mean_deviation;
  return formulas::attention::scores::ScoreBounds<T>(q);
}

Contract over_scores(const Contract& contract) {
  Contract inner = contract;
  inner.input = contract.accumulator;  // scores stay in the accumulator
  inner.weights.reset();               // and so do the summed weights
  return inner;
}

}  // namespace

template <class T>
T score_error(const Contract& contract, const AttentionArithmetic& arithmetic, const T& dot_magnitude) {
  const FpEnvironmentGuard guard;
  const FormatProperties& p = properties(contract.accumulator);
  const bool flushed = contract.subnormals == Subnormals::flushed;
  const T scale(arithmetic.scale < 0 ? -arithmetic.scale : arithmetic.scale);
  const T dimension(static_cast<double>(arithmetic.dimension));
  const T readings(embeds(contract.input, contract.accumulator) ? 0 : 2);  // of q and k
  const T product_floor = flushed ? T(p.smallest_normal) : T(p.smallest_subnormal) * T(0.5);
  const T sum_floor = flushed ? T(p.smallest_normal) : T(0);
  if (contract.scale == ScaleUse::whole) {
    formulas::attention::whole::Quantities<T> q;
    q.roundoff = T(p.unit_roundoff);
    q.dimension = dimension;
    q.readings = readings;
    q.scale_magnitude = scale;
    q.products_scale = maximum(scale, T(1));
    q.dot_magnitude = dot_magnitude;
    q.factor_sum = T(arithmetic.factor_sum);
    q.product_floor = product_floor;
    q.sum_floor = sum_floor;
    return formulas::attention::whole::WholeScoreBounds<T>(q).whole_score;
  }
  // Instead of the scale, its root, computed in double and narrowed, with a product on each side.
  formulas::attention::split::Quantities<T> q;
  StorageError<T> stored;
  if (contract.scale == ScaleUse::stored) stored = storage_error<T>(contract, contract.input);
  q.roundoff = T(p.unit_roundoff);
  q.dimension = dimension;
  q.readings = readings;
  q.narrowed_unit = minus_log1m(T(properties(Format::f64).unit_roundoff));
  q.factor_unit = stored.unit;
  q.stored_floor = stored.floor;
  q.root = T(std::nextafter(std::sqrt(std::fabs(arithmetic.scale)), infinity));
  q.scale_magnitude = scale;
  q.dot_magnitude = dot_magnitude;
  q.factor_sum = T(arithmetic.factor_sum);
  q.product_floor = product_floor;
  q.sum_floor = sum_floor;
  return formulas::attention::split::SplitScoreBounds<T>(q).split_score;
}

template <class T>
T stored_score_error(const Contract& contract, const T& score_error, const T& magnitude) {
  const FpEnvironmentGuard guard;
  const StorageError<T> stored = storage_error<T>(contract, contract.scores);
  formulas::attention::split::Quantities<T> q;
  q.score_magnitude = magnitude;
  q.score_error = score_error;
  q.score_unit = stored.unit;
  q.score_floor = stored.floor;
  return formulas::attention::split::StoredScoreBounds<T>(q).stored_score;
}

bool score_is_exact(const Contract& contract, double scale, std::span<const double> query,
                    std::span<const double> key) {
  const FpEnvironmentGuard guard;
  const FormatProperties& p = properties(contract.accumulator);
  if (contract.exp_argument_error > 1) return false;
  int exponent = 0;
  if (std::fabs(std::frexp(scale, &exponent)) != 0.5 || !embeds(contract.input, contract.accumulator)) return false;
  --exponent;  // |scale| = 2^exponent
  if (contract.scale != ScaleUse::whole && scale != 1) return false;
  constexpr int none = std::numeric_limits<int>::max();
  int lowest_factor = none, lowest_product = none;
  UpperBound magnitude;
  double largest_factor = 0;
  for (std::size_t t = 0; t < query.size(); ++t) {
    for (const double factor : {query[t], key[t]}) {
      if (factor != 0) lowest_factor = std::min(lowest_factor, lowest_bit(factor));
      largest_factor = std::max(largest_factor, std::fabs(factor));
    }
    if (query[t] == 0 || key[t] == 0) continue;
    lowest_product = std::min(lowest_product, lowest_bit(query[t]) + lowest_bit(key[t]));
    magnitude = magnitude + UpperBound(std::fabs(query[t])) * UpperBound(std::fabs(key[t]));
    // no later term can repair this
    if (upper(magnitude) > std::ldexp(1.0, lowest_product + p.precision)) return false;
  }
  if (lowest_product == none) return true;
  // No factor, product or sum may underflow or overflow before or after the scaling.
  const int down = std::min(exponent, 0), up = std::max(exponent, 0);
  const double largest = std::ldexp(std::max(upper(magnitude), largest_factor), up);
  return largest <= p.largest && std::min(lowest_factor, lowest_product) + down >= p.min_exponent;
}

template <class T>
auto AttentionThreshold<T>::of_scores(const Contract& contract, const ScoreRow<T>& scores,
                                      std::span<const T> score_errors, const T& factor) -> Perturbation {
  const FpEnvironmentGuard guard;
  if (scores.deviations.size() != scores.coefficients.size() || score_errors.size() != scores.coefficients.size()) {
    throw std::invalid_argument("AttentionThreshold: need spans of one length, got " +
                                std::to_string(scores.coefficients.size()) + ", " +
                                std::to_string(scores.deviations.size()) + ", " + std::to_string(score_errors.size()));
  }
  const ScoreErrors<T> errors = summarize(scores, score_errors, factor);
  const formulas::attention::scores::ScoreBounds<T> bounds = perturbed(scores.statistics, errors);
  Perturbation result;
  result.contract = over_scores(contract);
  result.moved = scores.statistics;
  result.moved.theta = 1;
  result.moved.log_sum = bounds.moved_log_sum;
  result.moved.mean_deviation = bounds.moved_mean;
  result.moved.mean_square_deviation = bounds.moved_square;
  result.moved.maximum_magnitude = bounds.moved_maximum;
  result.moved.largest_magnitude = scores.statistics.largest_magnitude + errors.largest;
  result.moved.logsumexp_magnitude = bounds.moved_logsumexp;
  result.largest = errors.largest;
  result.mean = errors.mean;
  result.factor = factor;
  result.logsumexp = bounds.logsumexp_move;
  result.entropy = bounds.entropy_move;
  return result;
}

template <class T>
auto AttentionThreshold<T>::of_sharpened(const Contract& contract, const ScoreRow<T>& scores,
                                         const ScoreRow<T>& sharpened, const T& beta, std::span<const T> score_errors,
                                         Grants grants) -> Perturbation {
  const FpEnvironmentGuard guard;
  const Perturbation plain = of_scores(contract, scores, score_errors, T(1));
  // Move the scores first, at the exact beta; then beta, at the computed scores.
  Perturbation result = of_scores(contract, sharpened, score_errors, beta);
  const TemperatureError<T> temperature =
      temperature_error(plain.contract, plain.moved, result.moved, plain.entropy, grants);
  const T& tau = temperature.tau;
  result.contract = temperature.granted;
  result.moved = temperature.moved;
  result.tilt = tau;
  result.wider_mean = temperature.mean;
  // dL / dbeta = E_p[x], and dH / dbeta = -Var(D) / beta with Var(D) <= ln^2(n + e).
  result.logsumexp = result.logsumexp + tau * (plain.moved.maximum_magnitude + temperature.mean);
  result.entropy = result.entropy + tau * temperature.moved.mean_square_deviation;
  return result;
}

template <class T>
AttentionThreshold<T>::AttentionThreshold(const Contract& contract, const AttentionArithmetic& arithmetic,
                                          const ScoreRow<T>& scores, std::span<const T> score_errors, Grants grants)
    : AttentionThreshold(contract, arithmetic, scores, score_errors, of_scores(contract, scores, score_errors, T(1)),
                         grants) {}

template <class T>
AttentionThreshold<T>::AttentionThreshold(const Contract& contract, const AttentionArithmetic& arithmetic,
                                          const ScoreRow<T>& scores, const ScoreRow<T>& sharpened, const T& beta,
                                          std::span<const T> score_errors, Grants grants)
    : AttentionThreshold(contract, arithmetic, sharpened, score_errors,
                         of_sharpened(contract, scores, sharpened, beta, score_errors, grants), grants) {}

template <class T>
AttentionThreshold<T>::AttentionThreshold(const Contract& contract, const AttentionArithmetic& arithmetic,
                                          const ScoreRow<T>& row, std::span<const T> score_errors,
                                          Perturbation perturbation, Grants grants)
    : perturbation_(std::move(perturbation)),
      grants_(grants),
      model_(perturbation_.contract, perturbation_.moved, grants) {
  const FpEnvironmentGuard guard;
  const FormatProperties& accumulator = properties(contract.accumulator);
  const FormatProperties& narrow = properties(arithmetic.coefficients);
  const StorageError<T> sums = storage_error<T>(contract, contract.values);
  formulas::attention::queries::Quantities<T> q;
  q.sum_log = model_.sum_log;
  q.exp_unit = model_.exp_unit;
  q.unit = model_.unit;
  q.rescale_unit = model_.rescale_unit;
  q.argument_floor = model_.argument_floor;
  q.slope = model_.slope;
  q.quotient = model_.quotient;
  q.tilt = perturbation_.tilt;
  q.wider_mean = perturbation_.wider_mean;
  q.mean_score_error = perturbation_.mean;
  q.largest_score_error = perturbation_.largest;
  q.values_height = T(static_cast<double>(arithmetic.value_sum_height));
  q.rescalings = model_.rescalings;
  q.rescaled = model_.rescaled;
  if (narrow.precision < accumulator.precision) q.weight_unit = minus_log1m(T(narrow.unit_roundoff));
  q.weight_floor = T(std::ldexp(narrow.smallest_subnormal, -contract.weights_power));
  if (contract.subnormals == Subnormals::flushed && narrow.storage_bits > 8) {
    q.weight_floor = q.weight_floor + T(narrow.smallest_normal);
  }
  // Sums of weighted values in a separate format add roundings: its products, additions, rescalings and division, and
  // reading a value.
  q.sums_unit = sums.unit;
  q.sums_floor = sums.floor;
  if (!embeds(contract.input, contract.accumulator)) {  // reading values, which may underflow
    q.reading_unit = model_.unit;
    q.sums_floor = q.sums_floor + model_.product_floor * exp(sums.unit);
  }
  q.exp_floor = model_.exp_floor;
  // The division by S may come before or after the sum over the keys.
  q.quotient_floor = q.product_floor = model_.product_floor;
  q.sum_floor = model_.sum_floor;
  q.quantum_share = T(accumulator.smallest_subnormal) * T(0x1p-11);
  bounds_ = formulas::attention::queries::QueryBounds<T>(q);

  formulas::attention::keys::Quantities<T> key;
  key.own_log = bounds_.own_log;
  key.chord_slope = model_.element(bounds_.widest_log, bounds_.rate, T(0)).slope;
  term_errors_.reserve(row.coefficients.size());
  for (std::size_t j = 0; j < row.coefficients.size(); ++j) {
    if (upper(row.coefficients[j]) == 0) {
      term_errors_.push_back(T(0));
      continue;
    }
    key.score_error = perturbation_.factor * score_errors[j];
    key.deviation = row.deviations[j];
    key.coefficient = row.coefficients[j];
    term_errors_.push_back(formulas::attention::keys::KeyBounds<T>(key).key_error);
  }
}

template <class T>
ScalarThreshold<T> AttentionThreshold<T>::column(std::span<const T> values, const T& output) const {
  if (values.size() != term_errors_.size()) {
    throw std::invalid_argument("AttentionThreshold::column: need " + std::to_string(term_errors_.size()) +
                                " values, got " + std::to_string(values.size()));
  }
  const FpEnvironmentGuard guard;
  return column(dot(values, std::span<const T>(term_errors_)), sum(values), output);
}

template <class T>
ScalarThreshold<T> AttentionThreshold<T>::column(const T& terms, const T& magnitude, const T& output) const {
  const FpEnvironmentGuard guard;
  formulas::attention::columns::Quantities<T> q;
  q.common_excess = bounds_.common_excess;
  q.common_growth = bounds_.common_growth;
  q.lost_weight = bounds_.lost_weight;
  q.lost_addend = bounds_.lost_addend;
  q.addends = T(static_cast<double>(term_errors_.size()));
  q.output = output;
  q.quotient_loss = bounds_.quotient_loss;
  q.output_roundoff = model_.output_roundoff;
  q.output_floor = model_.output_floor;
  q.terms = terms;
  q.magnitude = magnitude;
  const formulas::attention::columns::ColumnBounds<T> bounds(q);
  return {bounds.column_output, bounds.column_lost};
}

template <class T>
ScalarThreshold<T> AttentionThreshold<T>::logsumexp(Format output) const {
  const FpEnvironmentGuard guard;
  Contract contract = perturbation_.contract;
  contract.output = output;
  ScalarThreshold<T> result = logsumexp_error(contract, perturbation_.moved, grants_);
  result.rounding = result.rounding + perturbation_.logsumexp;
  return result;
}

template <class T>
ScalarThreshold<T> AttentionThreshold<T>::entropy(Format output) const {
  const FpEnvironmentGuard guard;
  Contract contract = perturbation_.contract;
  contract.output = output;
  ScalarThreshold<T> result = contracted_entropy_error(contract, perturbation_.moved, grants_);
  result.rounding = result.rounding + perturbation_.entropy;
  return result;
}

template <class T>
T AttentionThreshold<T>::sum_error(Grants grants) const {
  return numerics::sum_error(perturbation_.contract, perturbation_.moved, grants);
}

template <class T>
T AttentionThreshold<T>::undershoot(Format output) const {
  Contract contract = perturbation_.contract;
  contract.output = output;
  return entropy_undershoot(contract, perturbation_.moved);
}

template UpperBound stored_score_error<UpperBound>(const Contract&, const UpperBound&, const UpperBound&);
template Enclosure stored_score_error<Enclosure>(const Contract&, const Enclosure&, const Enclosure&);
template UpperBound score_error<UpperBound>(const Contract&, const AttentionArithmetic&, const UpperBound&);
template class AttentionThreshold<UpperBound>;
template Enclosure score_error<Enclosure>(const Contract&, const AttentionArithmetic&, const Enclosure&);
template class AttentionThreshold<Enclosure>;

}  // namespace softcheck::numerics
