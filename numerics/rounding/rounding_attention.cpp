// B9: attention. Proof: docs/tolerances.md.

#include "numerics/rounding/rounding_attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "numerics/enclosures/ulp.hpp"
#include "numerics/formats/fp_environment.hpp"
#include "numerics/formats/special_values.hpp"

namespace softcheck::numerics {
namespace {

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

// The statistics of the scores as computed, from those of the exact ones: every D moves by at most 2 e_max.
template <class T>
RowStatistics<T> perturbed(const RowStatistics<T>& row, const T& largest_error) {
  const T shift = 2 * largest_error;
  RowStatistics<T> moved = row;
  moved.theta = 1;
  moved.log_sum = row.log_sum + shift;
  moved.mean_deviation = exp(shift) * (row.mean_deviation + shift);
  moved.mean_square_deviation =
      exp(shift) * (row.mean_square_deviation + 2 * shift * row.mean_deviation + shift * shift);
  moved.maximum_magnitude = row.maximum_magnitude + largest_error;
  moved.largest_magnitude = row.largest_magnitude + largest_error;
  moved.logsumexp_magnitude = row.logsumexp_magnitude + largest_error;
  return moved;
}

Contract over_scores(const Contract& contract) {
  Contract inner = contract;
  inner.input = contract.accumulator;  // scores stay in the accumulator
  inner.weights.reset();               // and so do the weights that are added up
  return inner;
}

}  // namespace

template <class T>
T score_error(const Contract& contract, const AttentionArithmetic& arithmetic, const T& dot_magnitude) {
  const FpEnvironmentGuard guard;
  const FormatProperties& p = properties(contract.accumulator);
  const T unit = minus_log1m(T(p.unit_roundoff));
  const T lost = T(contract.subnormals == Subnormals::flushed ? 2 * p.smallest_normal : p.smallest_subnormal);
  const T scale(arithmetic.scale < 0 ? -arithmetic.scale : arithmetic.scale);
  const T dimension(static_cast<double>(arithmetic.dimension));
  // A product, d - 1 additions, the scaling and the scale's own representation; q and k as they are read.
  T log_error = (dimension + T(embeds(contract.input, contract.accumulator) ? 2 : 4)) * unit;
  if (contract.scale == ScaleUse::whole) {
    // Where the scale meets a factor first, what underflows of it meets the other one; behind the sum, the scale meets
    // what the products lost.
    const T underflow = lost * T(arithmetic.factor_sum) + maximum(scale, T(1)) * dimension * lost;
    return scale * expm1(log_error) * dot_magnitude + exp(log_error) * underflow + lost;
  }
  // A root, computed in double and narrowed, and a product on either side in place of the scaling.
  log_error = log_error + 2 * unit + 2 * minus_log1m(T(properties(Format::f64).unit_roundoff));
  StorageError<T> stored;
  if (contract.scale == ScaleUse::stored) stored = storage_error<T>(contract, contract.input);
  log_error = log_error + 2 * stored.unit;
  // What underflows of a scaled factor meets the other, of a size up to sqrt(scale) times its own, and its own error.
  const T underflow = lost + stored.floor;
  const T root(std::nextafter(std::sqrt(std::fabs(arithmetic.scale)), infinity));
  const T met = underflow * (root * T(arithmetic.factor_sum) + dimension * underflow);
  return scale * expm1(log_error) * dot_magnitude + exp(log_error) * (met + dimension * lost) + lost;
}

template <class T>
T stored_score_error(const Contract& contract, const T& score_error, const T& magnitude) {
  const FpEnvironmentGuard guard;
  const StorageError<T> stored = storage_error<T>(contract, contract.scores);
  return score_error + expm1(stored.unit) * (magnitude + score_error) + stored.floor;
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
  }
  if (lowest_product == none) return true;
  // Neither a factor, nor a product, nor their sum may underflow or overflow before or after the scaling.
  const int down = std::min(exponent, 0), up = std::max(exponent, 0);
  const double largest = std::ldexp(std::max(upper(magnitude), largest_factor), up);
  return upper(magnitude) <= std::ldexp(1.0, lowest_product + p.precision) && largest <= p.largest &&
         std::min(lowest_factor, lowest_product) + down >= p.min_exponent;
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
  Perturbation result;
  result.contract = over_scores(contract);
  result.moved = perturbed(scores.statistics, errors.largest);
  result.largest = errors.largest;
  result.factor = factor;
  // |ln sum p e^(+-e)| <= ebar e^e_max.
  result.denominator = result.logsumexp = errors.mean * exp(errors.largest);
  // |dH| <= sum p |D - Dbar| e along the way from one row to the other.
  result.entropy = exp(2 * errors.largest) *
                   (errors.mean_deviation + errors.mean * (2 * errors.largest + result.moved.mean_deviation));
  return result;
}

template <class T>
auto AttentionThreshold<T>::of_sharpened(const Contract& contract, const ScoreRow<T>& scores,
                                         const ScoreRow<T>& sharpened, const T& beta, std::span<const T> score_errors,
                                         Grants grants) -> Perturbation {
  const FpEnvironmentGuard guard;
  const Perturbation plain = of_scores(contract, scores, score_errors, T(1));
  // First the scores move, at the exact beta; then beta does, at the scores as computed.
  Perturbation result = of_scores(contract, sharpened, score_errors, beta);
  const TemperatureError<T> temperature =
      temperature_error(plain.contract, plain.moved, result.moved, plain.entropy, grants);
  const T& tau = temperature.tau;
  result.contract = temperature.granted;
  result.moved = temperature.moved;
  result.tilt = tau;
  result.denominator = result.denominator + tau * temperature.mean;
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
  const FormatProperties& narrow = properties(arithmetic.coefficients);
  const bool rounds = narrow.precision < properties(contract.accumulator).precision;
  common_ = model_.sum_log + perturbation_.denominator;

  // The division by S may come before the sum over the keys as well as behind it.
  const T height(static_cast<double>(arithmetic.value_sum_height));
  const T& tilt = perturbation_.tilt;
  const T rate = model_.slope * (1 + tilt) + tilt;
  T term = model_.exp_unit + model_.rescale_unit + model_.argument_floor + 2 * rate * perturbation_.largest +
           (height + 1) * model_.unit + model_.quotient;
  if (rounds) term = term + minus_log1m(T(narrow.unit_roundoff));
  if (!embeds(contract.input, contract.accumulator)) term = term + model_.unit;  // the values as they are read
  // Sums of weighted values in a format of their own: its products, additions, rescalings and division are roundings
  // more, and so is a value as that format has it.
  const StorageError<T> sums = storage_error<T>(contract, contract.values);
  term = term + (height + model_.rescalings + 3) * sums.unit;
  value_floor_ = sums.floor;
  lost_ = model_.exp_floor + T(narrow.smallest_subnormal) + model_.product_floor;
  if (contract.subnormals == Subnormals::flushed) lost_ = lost_ + T(narrow.smallest_normal);
  if (model_.rescaled) lost_ = lost_ + 2 * model_.exp_floor;
  const ElementThreshold<T> widest = model_.element(term + perturbation_.largest, rate, lost_);
  lost_ = widest.floor * exp(term + perturbation_.largest);
  term_errors_.reserve(row.coefficients.size());
  for (std::size_t j = 0; j < row.coefficients.size(); ++j) {
    const bool visible = upper(row.coefficients[j]) != 0;
    const T constant = term + perturbation_.factor * score_errors[j];
    term_errors_.push_back(visible ? (expm1(constant) + widest.slope * row.deviations[j]) * row.coefficients[j] : T(0));
  }
}

template <class T>
ScalarThreshold<T> AttentionThreshold<T>::column(std::span<const T> values, const T& output) const {
  if (values.size() != term_errors_.size()) {
    throw std::invalid_argument("AttentionThreshold::column: need " + std::to_string(term_errors_.size()) +
                                " values, got " + std::to_string(values.size()));
  }
  const FpEnvironmentGuard guard;
  T terms(0);
  T magnitude(0);
  T each = model_.product_floor + model_.sum_floor;
  if (model_.rescaled) each = each + 2 * model_.product_floor;
  each = each + (4 + model_.rescalings) * value_floor_;
  for (std::size_t j = 0; j < values.size(); ++j) {
    terms = terms + values[j] * term_errors_[j];
    magnitude = magnitude + values[j];
  }
  const T lost = T(static_cast<double>(values.size())) * each + magnitude * lost_;
  const T amplification = exp(common_);
  const T rounding = expm1(common_) * output + amplification * terms;
  return model_.output(rounding, output, amplification * lost + 2 * model_.product_floor);
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
T AttentionThreshold<T>::sum_error() const {
  return numerics::sum_error(perturbation_.contract, perturbation_.moved, grants_);
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
