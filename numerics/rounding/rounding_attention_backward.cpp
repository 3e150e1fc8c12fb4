// B17: the gradient of attention, in the letters of docs/tolerances/attention_backward.md.

#include "numerics/rounding/rounding_attention_backward.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "numerics/formats/fp_environment.hpp"

namespace softcheck::numerics {
namespace {

using Model = OperationModel<UpperBound>;

UpperBound bound(std::uint64_t count) { return UpperBound(static_cast<double>(count)); }

// e^log (magnitude + error) - magnitude.
UpperBound grown(const UpperBound& log, const UpperBound& magnitude, const UpperBound& error) {
  return expm1(log) * magnitude + exp(log) * error;
}

// A saved tensor read by the accumulator: the log errors of its format and of the reading, and underflow.
StorageError<UpperBound> saved_error(const Contract& contract, const Model& model, Format format) {
  StorageError<UpperBound> error = storage_error<UpperBound>(contract, format);
  if (!embeds(format, contract.accumulator)) error.unit = error.unit + model.unit;
  error.floor = error.floor + 2 * model.product_floor;
  return error;
}

// The log error of only reading a given saved tensor.
UpperBound saved_reading(const Contract& contract, const Model& model, Format format) {
  return embeds(format, contract.accumulator) ? UpperBound(0) : model.unit;
}

// omega_j: the log error of p_j by any of the allowed methods.
class CoefficientLogs {
 public:
  CoefficientLogs(const Contract& contract, const AttentionBackwardArithmetic& arithmetic, const Model& model,
                  const BackwardRow& row)
      : model_(model), row_(row) {
    const double steps = std::max(contract.exp_argument_error, 1.0);
    const StorageError<UpperBound> stored = storage_error<UpperBound>(contract, contract.differences);
    argument_unit_ = UpperBound(steps) * model.unit + stored.unit;
    slope_ = expm1(argument_unit_);
    base_ = 2 * exp(model.unit) * expm1(UpperBound(steps - 1) * model.unit);
    underflow_ = exp(argument_unit_) * (3 * model.product_floor + model.sum_floor + stored.floor);
    // The theorems' assumptions about an arithmetic: sound in theory/proofs/floating_point/standard_model.v.
    if (slope_.value() > 0.25 || underflow_.value() > 0.5) slope_ = underflow_ = UpperBound::infinity();
    for (const BackwardPair& pair : row.pairs) largest_ = maximum(largest_, pair.score_error);
    set_denominator(contract);

    logsumexp_ = maximum(saved_logsumexp(contract, arithmetic.lse_saved), recomputed_logsumexp());
    if (!(row.lse_magnitude.value() < properties(arithmetic.lse_saved).largest / 2)) {
      logsumexp_ = UpperBound::infinity();
    }
  }

  UpperBound of(const BackwardPair& pair) const {
    return maximum(through_logsumexp(pair), item(pair) + denominator_ + quotient_);
  }

 private:
  // s_j of an item of the sum, which the running maximum rescales R times.
  UpperBound item(const BackwardPair& pair) const {
    const UpperBound rescalings = bound(row_.rescalings);
    return pair.score_error + model_.exp_unit + slope_ * (pair.deviation + 2 * largest_) +
           (rescalings + 1) * underflow_ + rescalings * (model_.exp_unit + model_.unit);
  }

  void set_denominator(const Contract& contract) {
    const UpperBound height = bound(summation_height(contract, row_.pairs.size())) * model_.unit;
    UpperBound mean;  // of e^(s_j + h lambda) - 1
    for (const BackwardPair& pair : row_.pairs) mean = mean + pair.coefficient * expm1(item(pair) + height);
    // The p_j are upper bounds: their sum may exceed 1, which only increases the mean. The computed sum contains a 1.
    const UpperBound lost = bound(row_.pairs.size()) * (2 * bound(row_.rescalings) + 1) *
                            (model_.exp_floor + model_.product_floor + model_.sum_floor);
    const UpperBound rescalings = bound(row_.rescalings);
    const UpperBound direct =
        height + model_.exp_unit + rescalings * (model_.exp_unit + model_.unit) + (rescalings + 1) * underflow_;
    denominator_ = log1p(mean) + minus_log1m(exp(2 * direct) * lost);
    // Relative to the computed maximum, the sum is S e^(+-largest_).
    const UpperBound sum = exp(row_.log_sum + largest_ + denominator_);
    quotient_ = model_.unit + minus_log1m(model_.roundoff + model_.product_floor * sum);
  }

  UpperBound saved_logsumexp(const Contract& contract, Format format) const {
    const StorageError<UpperBound> saved = saved_error(contract, model_, format);
    if (!row_.saved) return expm1(saved.unit) * row_.lse_magnitude + saved.floor;
    const UpperBound& off = row_.saved->logsumexp;
    return off + expm1(saved_reading(contract, model_, format)) * (row_.lse_magnitude + off) + saved.floor;
  }

  UpperBound recomputed_logsumexp() const {
    const UpperBound size = row_.log_sum + largest_ + denominator_;
    const UpperBound logarithm = denominator_ + model_.log_roundoff * size + model_.sum_floor;
    return logarithm + model_.roundoff * (row_.lse_magnitude + logarithm) + model_.sum_floor;
  }

  // e^(x - L): with D the deviation, L - x = D + ln S.
  UpperBound through_logsumexp(const BackwardPair& pair) const {
    return exp(argument_unit_) * (pair.score_error + logsumexp_) + base_ * row_.lse_magnitude +
           slope_ * (pair.deviation + row_.log_sum) + model_.exp_unit + underflow_;
  }

  const Model& model_;
  const BackwardRow& row_;
  UpperBound argument_unit_, slope_, base_, underflow_, largest_, denominator_, quotient_, logsumexp_;
};

// E_delta including underflow: the larger of that from the saved O and from a recomputed one.
UpperBound delta_error(const Contract& contract, const AttentionBackwardArithmetic& arithmetic, const Model& model,
                       const BackwardRow& row, std::span<const UpperBound> logs, const UpperBound& lost) {
  const UpperBound products = (bound(arithmetic.value_size) + 1) * model.unit + 2 * model.reading_unit;
  const StorageError<UpperBound> saved = saved_error(contract, model, arithmetic.out_saved);
  const UpperBound each = bound(arithmetic.value_size) * (2 * model.product_floor + model.sum_floor);
  UpperBound output_sum;  // of |O_c|
  for (const BackwardPair& pair : row.pairs) output_sum = output_sum + pair.coefficient * pair.value_sum;
  const UpperBound floors = saved.floor * (row.gradient_sum + model.reading_floor) + each;
  UpperBound from_saved;
  if (row.saved) {
    const UpperBound& off = row.saved->output;
    const UpperBound log = products + saved_reading(contract, model, arithmetic.out_saved);
    const UpperBound read = model.reading_floor * (output_sum + row.saved->output_sum);
    from_saved = off + expm1(log) * (row.output_product + off) + exp(log) * (floors + read);
  } else {
    const UpperBound read = model.reading_floor * exp(saved.unit) * output_sum;
    from_saved = expm1(products + saved.unit) * row.output_product + exp(products) * (floors + read);
  }

  const UpperBound stored = weights_error<UpperBound>(contract).unit;
  // A recomputed output may also be stored before it is read.
  const UpperBound sum = (bound(arithmetic.key_sum_height) + 2) * model.unit + stored + products + saved.unit;
  UpperBound recomputed;
  for (std::size_t j = 0; j < row.pairs.size(); ++j) {
    const BackwardPair& pair = row.pairs[j];
    recomputed = recomputed + expm1(logs[j] + sum) * (pair.coefficient * pair.gradient_magnitude) +
                 exp(logs[j] + sum) * (lost * pair.gradient_magnitude + (row.gradient_sum + 2) * each +
                                       (pair.coefficient + lost) * model.reading_floor * pair.value_sum);
  }
  recomputed = recomputed + exp(products) * (saved.floor * (row.gradient_sum + model.reading_floor));
  return maximum(from_saved, recomputed);
}

// How much more than `off`, the error of g - delta, g - delta + dL errs: reading dL, and adding a third term.
UpperBound third_term_error(const Contract& contract, const AttentionBackwardArithmetic& arithmetic, const Model& model,
                            const BackwardRow& row, const BackwardPair& pair, const UpperBound& off) {
  if (!row.lse_gradient) return UpperBound(0);
  const UpperBound& size = *row.lse_gradient;
  const UpperBound read =
      expm1(saved_reading(contract, model, arithmetic.lse_saved)) * size + 2 * model.product_floor + model.sum_floor;
  // |delta|, |g| and |g - delta + dL| bound the first sum, with or without dL.
  const UpperBound first = maximum(maximum(row.output_product, pair.gradient_magnitude), pair.difference);
  // As two terms p dL and p (g - delta), each with its products, and those of dS's slope.
  const int roundings = pair.cap ? 7 : 5;
  return read + expm1(model.unit) * (first + off + read) + expm1(roundings * model.unit) * size;
}

void require_lengths(const char* function, std::size_t pairs, std::size_t got) {
  if (pairs == got) return;
  throw std::invalid_argument(std::string(function) + ": need " + std::to_string(pairs) + " factors, got " +
                              std::to_string(got));
}

}  // namespace

CapSlope cap_slope(const Contract& contract, double softcap, const UpperBound& slope, const UpperBound& magnitude,
                   const UpperBound& score_error) {
  if (!(softcap > 0)) throw std::invalid_argument("cap_slope: need a softcap > 0, got " + std::to_string(softcap));
  const FpEnvironmentGuard guard;
  const Model model(contract);
  // Roundings: a reciprocal and a product before tanh, whose relative condition is at most 1; a product after it, and
  // again a reciprocal and a product if it is taken from the capped score; the softcap, if it must be rounded.
  const int roundings = round_to(contract.accumulator, softcap) == softcap ? 5 : 6;
  // The score may be stored before and after the cap.
  const StorageError<UpperBound> scores = storage_error<UpperBound>(contract, contract.scores);
  const StorageError<UpperBound> steps = storage_error<UpperBound>(contract, contract.softcap);
  const UpperBound tanh_log =
      minus_log1m(UpperBound(contract.tanh_error * properties(contract.accumulator).unit_roundoff)) +
      roundings * model.unit + 2 * scores.unit + 3 * steps.unit;
  const UpperBound log = 2 * tanh_log + model.unit;  // of the square
  const UpperBound moved = 2 * magnitude * score_error + score_error * score_error;
  const UpperBound square = expm1(log) * (magnitude * magnitude) + exp(log) * moved;
  // Losses of the capped score grow when it is divided by a small softcap.
  const UpperBound over(std::nextafter(1 / softcap, std::numeric_limits<double>::infinity()));
  const UpperBound tanh_floor =
      exp(tanh_log) * ((3 + over) * (model.product_floor + steps.floor) + 2 * over * scores.floor);
  const UpperBound lost = exp(log) * (2 + tanh_floor) * tanh_floor + model.product_floor;
  return {slope, expm1(model.unit) * slope + exp(model.unit) * (square + lost) + model.sum_floor};
}

std::vector<BackwardPairError> attention_backward_pairs(const Contract& contract,
                                                        const AttentionBackwardArithmetic& arithmetic,
                                                        const BackwardRow& row) {
  if (row.pairs.empty() || !std::isfinite(arithmetic.scale)) {
    throw std::invalid_argument("attention_backward_pairs: need a visible key and a finite scale, got " +
                                std::to_string(row.pairs.size()) + " keys and scale " +
                                std::to_string(arithmetic.scale));
  }
  const FpEnvironmentGuard guard;
  const Model model(contract);
  const CoefficientLogs coefficient(contract, arithmetic, model, row);
  const StorageError<UpperBound> weights = weights_error<UpperBound>(contract);
  const StorageError<UpperBound> stored = storage_error<UpperBound>(contract, contract.score_gradients);
  // An exponential, its rescalings and its quotient; rescalings multiply numbers of at most 1.
  const UpperBound lost =
      (bound(row.rescalings) + 1) * (model.exp_floor + 2 * model.product_floor) + model.product_floor + weights.floor;
  std::vector<UpperBound> logs;
  logs.reserve(row.pairs.size());
  for (const BackwardPair& pair : row.pairs) logs.push_back(coefficient.of(pair));
  const UpperBound delta = delta_error(contract, arithmetic, model, row, logs, lost);
  const UpperBound products = (bound(arithmetic.value_size) + 1) * model.unit + 2 * model.reading_unit;
  const UpperBound product_floors = exp(products) * bound(arithmetic.value_size) *
                                    (2 * model.product_floor + model.sum_floor) * (1 + row.gradient_sum);

  std::vector<BackwardPairError> errors;
  errors.reserve(row.pairs.size());
  for (std::size_t j = 0; j < row.pairs.size(); ++j) {
    const BackwardPair& pair = row.pairs[j];
    const UpperBound read = exp(products) * (model.reading_floor * pair.value_sum);
    const UpperBound gamma = expm1(products) * pair.gradient_magnitude + product_floors + read;
    // A softcap's slope adds one product.
    const CapSlope cap = pair.cap.value_or(CapSlope{});
    const UpperBound log = logs[j] + (pair.cap ? 3 : 2) * model.unit + stored.unit;
    const UpperBound apart = gamma + delta, third = third_term_error(contract, arithmetic, model, row, pair, apart);
    const UpperBound off = (apart + third) * (cap.slope + cap.error) + pair.difference * cap.error;
    const UpperBound difference = pair.difference * cap.slope;
    BackwardPairError error;
    error.coefficient = pair.coefficient;
    error.coefficient_log = logs[j];
    error.coefficient_floor = exp(logs[j]) * lost;
    error.score_gradient = pair.coefficient * difference;
    error.score_gradient_error = pair.coefficient * grown(log, difference, off);
    error.score_gradient_floor =
        exp(log) * ((lost * (difference + off) + (1 + pair.coefficient + lost) * model.sum_floor) * (1 + cap.error) +
                    (row.lse_gradient ? 5 : 3) * model.product_floor) +
        (row.lse_gradient ? 1 : 0) * exp(log) * model.sum_floor + stored.floor;
    errors.push_back(error);
  }
  return errors;
}

BackwardPairError label_pair_error(const Contract& contract, const BackwardPairError& pair, const UpperBound& upstream,
                                   const UpperBound& difference) {
  const FpEnvironmentGuard guard;
  const Model model(contract);
  const StorageError<UpperBound> stored = storage_error<UpperBound>(contract, contract.score_gradients);
  // A difference and a product.
  const UpperBound log = 2 * model.unit + stored.unit;
  const UpperBound read = expm1(model.reading_unit) * upstream + model.reading_floor;
  BackwardPairError error = pair;
  error.score_gradient = difference;
  error.score_gradient_error = grown(log, difference, pair.score_gradient_error + read);
  error.score_gradient_floor =
      exp(log) * (pair.score_gradient_floor + 2 * model.product_floor + (1 + upstream) * model.sum_floor) +
      stored.floor;
  return error;
}

namespace {

// The error of the scale in a term beyond one product and its own rounding: its root, computed in double, is narrowed
// twice and enters two products, and a factor times it may be stored.
StorageError<UpperBound> split_scale_error(const Contract& contract, const Model& model) {
  if (contract.scale == ScaleUse::whole) return {};
  StorageError<UpperBound> error;
  if (contract.scale == ScaleUse::stored) error = storage_error<UpperBound>(contract, contract.input);
  error.unit = error.unit + 2 * model.unit + 2 * minus_log1m(UpperBound(properties(Format::f64).unit_roundoff));
  error.floor = error.floor + model.product_floor;
  return error;
}

}  // namespace

ScoreGradientSum::ScoreGradientSum(const Contract& contract, const AttentionBackwardArithmetic& arithmetic,
                                   std::span<const BackwardPairError> pairs, std::uint64_t height)
    : model_(contract), scale_(std::fabs(arithmetic.scale)) {
  const FpEnvironmentGuard guard;
  const StorageError<UpperBound> stored = storage_error<UpperBound>(contract, contract.score_gradients);
  // A product, the additions, the scale's product and its own rounding; reading the factor.
  const StorageError<UpperBound> split = split_scale_error(contract, model_);
  const UpperBound log = (bound(height) + 3) * model_.unit + model_.reading_unit + split.unit;
  const UpperBound grown_by = expm1(log), times = exp(log), each = model_.product_floor + model_.sum_floor;
  amplified_ = exp(log + stored.unit);
  errors_.reserve(pairs.size());
  floors_.reserve(pairs.size());
  for (const BackwardPairError& pair : pairs) {
    // The scale may multiply dS before it is stored, or the factor, or the sum.
    const UpperBound size = pair.score_gradient + pair.score_gradient_error + pair.score_gradient_floor;
    errors_.push_back(grown_by * pair.score_gradient + times * pair.score_gradient_error);
    floors_.push_back(scale_ * pair.score_gradient_floor + model_.product_floor + stored.floor);
    lost_ = lost_ + size * (1 + scale_) * (each + model_.reading_floor + split.floor) + (1 + scale_) * each;
  }
}

ScalarThreshold<UpperBound> ScoreGradientSum::error(std::span<const UpperBound> factors,
                                                    const UpperBound& result) const {
  require_lengths("ScoreGradientSum", errors_.size(), factors.size());
  const FpEnvironmentGuard guard;
  return error(dot(factors, errors_), dot(factors, floors_), result);
}

ScalarThreshold<UpperBound> ScoreGradientSum::error(UpperBound errors, UpperBound floors,
                                                    const UpperBound& result) const {
  const FpEnvironmentGuard guard;
  return model_.output(scale_ * errors, result, amplified_ * (floors + lost_) + 2 * model_.product_floor);
}

ValueGradientSum::ValueGradientSum(const Contract& contract, const AttentionBackwardArithmetic& arithmetic,
                                   std::span<const BackwardPairError> pairs)
    : model_(contract) {
  const FpEnvironmentGuard guard;
  const UpperBound stored = weights_error<UpperBound>(contract).unit;
  const UpperBound log = (bound(arithmetic.query_sum_height) + 1) * model_.unit + model_.reading_unit + stored;
  amplified_ = exp(log);
  errors_.reserve(pairs.size());
  floors_.reserve(pairs.size());
  for (const BackwardPairError& pair : pairs) {
    const UpperBound size = exp(pair.coefficient_log) * pair.coefficient + pair.coefficient_floor;
    errors_.push_back(expm1(pair.coefficient_log + log) * pair.coefficient);
    floors_.push_back(pair.coefficient_floor);
    lost_ = lost_ + size * model_.reading_floor + model_.product_floor + model_.sum_floor;
  }
}

ScalarThreshold<UpperBound> ValueGradientSum::error(std::span<const UpperBound> gradients,
                                                    const UpperBound& result) const {
  require_lengths("ValueGradientSum", errors_.size(), gradients.size());
  const FpEnvironmentGuard guard;
  return error(dot(gradients, errors_), dot(gradients, floors_), result);
}

ScalarThreshold<UpperBound> ValueGradientSum::error(UpperBound errors, UpperBound floors,
                                                    const UpperBound& result) const {
  const FpEnvironmentGuard guard;
  return model_.output(errors, result, amplified_ * (floors + lost_));
}

ScalarThreshold<UpperBound> sink_gradient_error(const Contract& contract, std::span<const BackwardPairError> sinks,
                                                std::uint64_t height, const UpperBound& result) {
  const FpEnvironmentGuard guard;
  const Model model(contract);
  // Only the additions: dS includes the product, and a change of sign is exact.
  const UpperBound log = bound(height) * model.unit;
  UpperBound error, lost;
  for (const BackwardPairError& sink : sinks) {
    error = error + grown(log, sink.score_gradient, sink.score_gradient_error);
    lost = lost + sink.score_gradient_floor + model.sum_floor;
  }
  return model.output(error, result, exp(log) * lost);
}

}  // namespace softcheck::numerics
