// B14 and B15: cross-entropy and its gradient. Proofs: docs/tolerances/cross_entropy.md.

#include "numerics/rounding/rounding_cross_entropy.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "numerics/formats/fp_environment.hpp"
#include "numerics/formats/special_values.hpp"

namespace softcheck::numerics {
namespace {

// Roundings of a capped logit c tanh(a / c): a quotient, or a reciprocal and a product; tanh, whose relative condition
// is at most 1; the product with c; one more for a cap and one for a logit that the accumulator rounds.
template <class T>
T cap_log(const Contract& contract, const OperationModel<T>& model, const CrossEntropyOptions& options) {
  if (options.softcap == 0) return T(0);
  const bool held = round_to(contract.accumulator, options.softcap) == options.softcap;
  return minus_log1m(T(options.tanh_error) * model.roundoff) + T(held ? 3 : 4) * model.unit + model.reading_unit +
         3 * storage_error<T>(contract, contract.softcap).unit;
}

// The error of a capped logit |x| <= c: its roundings and underflow.
template <class T>
T cap_error(const Contract& contract, const OperationModel<T>& model, const CrossEntropyOptions& options, const T& log,
            const T& largest) {
  if (options.softcap == 0) return T(0);
  const T lost = 3 * (model.product_floor + storage_error<T>(contract, contract.softcap).floor);
  return expm1(log) * largest + exp(log) * (model.reading_floor + lost) * (1 + T(options.softcap));
}

// The statistics of a kernel's capped logits: as in B9, each logit moves by at most `error`.
template <class T>
RowStatistics<T> capped(const RowStatistics<T>& row, const T& error) {
  if (upper(error) == 0) return row;
  const T shift = 2 * error;
  RowStatistics<T> moved = row;
  moved.log_sum = row.log_sum + shift;
  moved.mean_deviation = exp(shift) * (row.mean_deviation + shift);
  moved.mean_square_deviation =
      exp(shift) * (row.mean_square_deviation + 2 * shift * row.mean_deviation + shift * shift);
  moved.maximum_magnitude = row.maximum_magnitude + error;
  moved.largest_magnitude = row.largest_magnitude + error;
  moved.logsumexp_magnitude = row.logsumexp_magnitude + error;
  return moved;
}

// The contract of the softmax of the capped logits, whose results stay in the accumulator.
Contract inner_contract(const Contract& contract, const CrossEntropyOptions& options) {
  Contract inner = contract;
  inner.output = contract.accumulator;
  if (options.softcap != 0) inner.input = contract.accumulator;
  return inner;
}

// Roundings of a product with 1 / theta: of theta, the reciprocal and the product.
template <class T>
T temperature_log(const CrossEntropyOptions& options, const T& unit) {
  return T(options.theta == 1 ? 0 : 3) * unit;
}

// 1 / s, rounded up.
double over_smoothing(const CrossEntropyOptions& options) {
  return std::nextafter(1 / options.label_smoothing, infinity);
}

// e^log (magnitude + error) - magnitude.
template <class T>
T grown_error(const T& log, const T& magnitude, const T& error) {
  return expm1(log) * magnitude + exp(log) * error;
}

// The log error of a term of alpha p - b.
template <class T>
T unit_of_terms(const Contract& contract, const CrossEntropyOptions& options, const CrossEntropyRow<T>& row,
                const T& unit) {
  const bool smoothed = options.label_smoothing > 0, squared = options.z_loss > 0;
  int roundings = (smoothed ? 5 : 0) + (squared ? 4 : 0) + (row.weighted ? 3 : 0);
  if (!smoothed && (squared || row.weighted)) ++roundings;  // the difference
  const T terms = T(roundings) * unit;
  if (!smoothed) return terms;
  // alpha may be a sum over the classes: of their weights, or of the gradients of their log-probabilities.
  return terms + T(static_cast<double>(summation_height(contract, row.statistics.size))) * unit;
}

}  // namespace

void require_options(const CrossEntropyOptions& options) {
  const auto refuse = [](const char* need, double got) {
    throw std::invalid_argument(std::string("CrossEntropyOptions: need ") + need + ", got " + std::to_string(got));
  };
  const auto finite = [](double x) { return x >= 0 && std::isfinite(x); };
  if (!(options.label_smoothing >= 0 && options.label_smoothing <= 1)) {
    refuse("label_smoothing in [0, 1]", options.label_smoothing);
  }
  if (!finite(options.z_loss)) refuse("a finite z_loss >= 0", options.z_loss);
  if (!finite(options.softcap)) refuse("a finite softcap >= 0", options.softcap);
  if (!finite(options.logit_error)) refuse("a finite logit_error >= 0", options.logit_error);
  if (!finite(options.tanh_error)) refuse("a finite tanh_error >= 0", options.tanh_error);
  if (!finite(options.theta) || options.theta == 0) refuse("a finite theta > 0", options.theta);
  if (options.theta != 1 && options.softcap != 0) refuse("a softcap of 0 beside a theta", options.softcap);
}

double softcap_error(const Contract& contract, const CrossEntropyOptions& options) {
  require_options(options);
  const FpEnvironmentGuard guard;
  const OperationModel<UpperBound> model(contract);
  return upper(cap_error(contract, model, options, cap_log(contract, model, options), UpperBound(options.softcap)));
}

std::uint64_t cross_entropy_rescalings(const Contract& contract, const CrossEntropyOptions& options,
                                       std::span<const double> logits) {
  if (options.softcap == 0) return rescaling_count(contract, logits);
  const FpEnvironmentGuard guard;
  std::vector<double> capped_logits;
  for (const double x : logits) {
    if (!std::isinf(x)) capped_logits.push_back(options.softcap * std::tanh(x / options.softcap));
  }
  const std::uint64_t visible = capped_logits.size();
  if (visible == 0) return 0;
  if (contract.summation.kind != Summation::Kind::sequential) {
    return std::min(summation_height(contract, logits.size()), visible - 1);
  }
  // std::tanh in double and its two operations err by less than 16 * 2^-53 of the cap.
  const double error = softcap_error(contract, options) + 0x1p-49 * options.softcap;
  const auto records = [&] {
    std::uint64_t count = 0;
    double least = capped_logits.front() - error;
    for (const double x : capped_logits) {
      count += x + error > least ? 1 : 0;
      least = std::max(least, x - error);
    }
    return count - 1;
  };
  const std::uint64_t forwards = records();
  std::reverse(capped_logits.begin(), capped_logits.end());
  return std::max(forwards, records());
}

template <class T>
ScalarThreshold<T> cross_entropy_error(const Contract& contract, const CrossEntropyOptions& options,
                                       const CrossEntropyRow<T>& row, Grants grants) {
  require_options(options);
  const FpEnvironmentGuard guard;
  const OperationModel<T> model(contract);
  const Contract inner = inner_contract(contract, options);
  const T moved =
      cap_error(contract, model, options, cap_log(contract, model, options), row.statistics.largest_magnitude) +
      T(options.logit_error);
  const RowStatistics<T> statistics = capped(row.statistics, moved);
  const LinearThreshold<T> logarithm = log_softmax_error(inner, statistics, grants);
  const ScalarThreshold<T> logsumexp = logsumexp_error(inner, statistics, grants);

  // L - x_y: B5 of the capped row, plus the cap's errors in L and x_y.
  const T negative_log = statistics.log_sum + row.target_deviation;
  const T negative_log_error = logarithm.rounding(row.target_deviation + 2 * moved) + 2 * moved;
  const bool smoothed = options.label_smoothing > 0;
  const bool squared = options.z_loss > 0;
  if (!smoothed && !squared && !row.weighted) {
    return model.output(negative_log_error, row.loss_magnitude, logarithm.floor);
  }

  const T share(options.label_smoothing);
  const T rest(std::nextafter(1 - options.label_smoothing, 2.0));
  const T target = (smoothed ? rest : T(1)) * row.target_weight;
  T magnitude = target * negative_log;
  T error = target * negative_log_error;
  T floor = target * logarithm.floor;
  const T classes(static_cast<double>(row.statistics.size));
  if (smoothed) {
    // of_logarithms: a weighted mean of log-probabilities, all of one sign. of_logits: L minus a weighted mean of
    // logits.
    const T height = T(static_cast<double>(summation_height(contract, row.statistics.size))) * model.unit;
    const T weighing = T(row.weighted ? 2 : 0) * model.unit;
    const T mean = row.mean_deviation + statistics.log_sum * row.mean_weight;
    const T of_logarithms = (logarithm.constant + 2 * moved + logarithm.slope * (2 * moved)) * row.mean_weight +
                            logarithm.slope * row.mean_deviation;
    const T first = grown_error(height + weighing, mean, of_logarithms);
    const T logsumexp_size = statistics.logsumexp_magnitude * row.mean_weight;
    const T of_logsumexp = (logsumexp.rounding + moved) * row.mean_weight;
    const T of_logits = row.mean_magnitude + moved * row.mean_weight;
    // mean(w), the factor of L, is also a sum.
    const T weights_sum = row.weighted ? height + weighing : T(0);
    const T second =
        grown_error(height + weighing + 2 * model.unit + model.reading_unit + temperature_log(options, model.unit),
                    row.mean_magnitude, moved * row.mean_weight) +
        grown_error(weights_sum, logsumexp_size, of_logsumexp);
    magnitude = magnitude + share * maximum(mean, logsumexp_size + of_logits);
    error = error + share * maximum(first, second);
    const T lost = logarithm.floor + logsumexp.floor + model.reading_floor;
    floor = floor + exp(height + 4 * model.unit) *
                        (lost * row.mean_weight + classes * (2 * model.product_floor + model.sum_floor));
  }
  if (squared) {
    const T z(options.z_loss);
    const T value = statistics.logsumexp_magnitude;
    const T off = logsumexp.rounding + moved;
    magnitude = magnitude + z * (value * value);
    error = error + z * (off * (2 * value + off));
    floor = floor + z * (logsumexp.floor * (2 * (value + off) + logsumexp.floor));
  }
  // A term's factors: the attribute's own rounding, a weight's reading, and two products; then the additions.
  const T additions = T((smoothed ? 2 : 0) + (squared ? 1 : 0)) * model.unit;
  const T terms = T(smoothed || squared ? 3 : 0) * model.unit + T(row.weighted ? 2 : 0) * model.unit + additions;
  floor = exp(terms) * (floor + 8 * (model.product_floor + model.sum_floor));
  return model.output(grown_error(terms, magnitude, error), row.loss_magnitude, floor);
}

template <class T>
ScalarThreshold<T> cross_entropy_mean_error(const Contract& contract, std::uint64_t rows, const T& magnitude,
                                            const T& error, double divisor, bool weighted) {
  if (rows == 0 || !(divisor > 0) || !std::isfinite(divisor)) {
    throw std::invalid_argument("cross_entropy_mean_error: need a row and a finite divisor > 0, got " +
                                std::to_string(rows) + " rows and a divisor of " + std::to_string(divisor));
  }
  const FpEnvironmentGuard guard;
  const OperationModel<T> model(contract);
  const T height = T(static_cast<double>(summation_height(contract, rows))) * model.unit;
  // The division, or a reciprocal and its product; a summed divisor has the same height and readings.
  const T log = height + 2 * model.unit + (weighted ? height + model.unit : T(0));
  const T over(std::nextafter(1 / divisor, 2 / divisor));
  const T count(static_cast<double>(rows));
  const T floor =
      over * exp(log) * count * model.sum_floor + 2 * model.product_floor * (1 + exp(log) * (magnitude + error));
  return model.output(over * grown_error(log, magnitude, error), over * magnitude, floor);
}

template <class T>
T cross_entropy_count_error(const Contract& contract, std::uint64_t count) {
  const FpEnvironmentGuard guard;
  const auto exact = static_cast<double>(count);
  return round_to(contract.accumulator, exact) == exact ? T(0) : expm1(OperationModel<T>(contract).unit);
}

template <class T>
T cross_entropy_divisor_error(const Contract& contract, std::uint64_t rows, bool weighted) {
  const FpEnvironmentGuard guard;
  const OperationModel<T> model(contract);
  if (!weighted) {
    const T count = cross_entropy_count_error<T>(contract, rows);
    return expm1(model.unit) * (1 + count) + count;
  }
  // One rounding for reading each weight, one for the reciprocal.
  return expm1(T(static_cast<double>(summation_height(contract, rows)) + 2) * model.unit);
}

template <class T>
auto CrossEntropyGradientThreshold<T>::Growth::of(const T& log) -> Growth {
  return {expm1(log), exp(log)};
}

template <class T>
CrossEntropyGradientThreshold<T>::CrossEntropyGradientThreshold(const Contract& contract,
                                                                const CrossEntropyOptions& options,
                                                                const CrossEntropyRow<T>& row, const T& upstream,
                                                                Grants grants, const T& divided)
    : options_(options), model_(contract), upstream_(upstream) {
  require_options(options);
  const FpEnvironmentGuard guard;
  late_product_ = model_.product_floor * divided;
  late_sum_ = model_.sum_floor * divided;
  const Contract inner = inner_contract(contract, options);
  const T cap_unit = cap_log(contract, model_, options);  // of tanh, including its argument and factor
  square_error_ = expm1(2 * cap_unit + 3 * model_.unit);
  logit_error_ =
      cap_error(contract, model_, options, cap_unit, row.statistics.largest_magnitude) + T(options.logit_error);
  moved_ = Growth::of(2 * logit_error_);
  one_ = Growth::of(model_.unit);
  two_ = Growth::of(2 * model_.unit + temperature_log(options, model_.unit));
  const RowStatistics<T> statistics = capped(row.statistics, logit_error_);
  coefficient_ = softmax_error(inner, statistics, grants);
  // p as e^(log-probability): the argument errs by first + slope D, and by A - 1 roundings of its magnitude.
  const LinearThreshold<T> logarithm = log_softmax_error(inner, statistics, grants);
  const T more = expm1(T(std::max(contract.exp_argument_error - 1, 0.0)) * model_.unit);
  const T first = logarithm.constant + logarithm.floor;
  power_ = RoundingModel<T>(inner, statistics, grants)
               .element(first + more * (statistics.log_sum + first) + model_.exp_unit,
                        logarithm.slope + more * (1 + logarithm.slope), model_.exp_floor);

  const bool smoothed = options.label_smoothing > 0;
  const bool squared = options.z_loss > 0;
  plain_ = !smoothed && !squared && !row.weighted;
  const ScalarThreshold<T> logsumexp = logsumexp_error(inner, statistics, grants);
  const T twice_z(2 * options.z_loss);
  const T rest(smoothed ? std::nextafter(1 - options.label_smoothing, 2.0) : 1.0);
  factor_ = rest * row.target_weight + T(options.label_smoothing) * row.mean_weight +
            twice_z * statistics.logsumexp_magnitude;
  factor_error_ = twice_z * (logsumexp.total() + logit_error_);
  classes_ = T(static_cast<double>(row.statistics.size));
  target_weight_ = row.target_weight;
  weights_sum_ = classes_ * row.mean_weight;
  addend_factors_ = target_weight_ + 2;
  if (smoothed) addend_factors_ = addend_factors_ + weights_sum_ + 2 * classes_;
  if (squared) {
    addend_factors_ = addend_factors_ + statistics.logsumexp_magnitude + logsumexp.total() + logit_error_ + 2;
  }
  const T term_unit = unit_of_terms(contract, options, row, model_.unit);
  terms_ = Growth::of(term_unit);
  upstream_terms_ = Growth::of(term_unit + 2 * model_.unit);
}

// The effect of upstream, a quotient and a product, on underflow: theorem b15_gradient.
template <class T>
T CrossEntropyGradientThreshold<T>::times_upstream(const T& value, const T& error, const T& lost) const {
  return two_.factor * (upstream_ * lost + model_.product_floor * (value + error + lost)) + late_product_;
}

// The same if each addend of alpha p - b is multiplied by upstream: a product loses omega_m and its addition omega_a,
// once times each later factor (at most a weight, |L| or alpha) and once by itself.
template <class T>
T CrossEntropyGradientThreshold<T>::addends_lost(const CrossEntropyElement<T>& element, const T& off) const {
  const T step = late_product_ + late_sum_;
  const T& p = element.coefficient;
  const T& lost = coefficient_.floor;
  // b_j is at least s w_j / V, and w_j at most the sum of all weights.
  T own_weight(0);
  if (options_.label_smoothing > 0) {
    own_weight = minimum(weights_sum_, element.subtrahend * classes_ * T(over_smoothing(options_))) + 2;
  }
  const T alpha = step * addend_factors_;
  const T single = step * (target_weight_ + own_weight + factor_ + factor_error_ + 10);
  const T magnitude = factor_ * p + element.subtrahend + factor_ * off + factor_error_ * (p + off);
  const T share = (factor_ + factor_error_) * lost;
  return upstream_terms_.factor *
         (upstream_ * share + model_.product_floor * (magnitude + share) + alpha * (p + off + lost) + single);
}

template <class T>
ScalarThreshold<T> CrossEntropyGradientThreshold<T>::element(const CrossEntropyElement<T>& element) const {
  const FpEnvironmentGuard guard;
  const T& p = element.coefficient;
  // With a cap, p has a log error of 2 e, and D an error of 2 e.
  const T deviation = element.deviation + 2 * logit_error_;
  const T either = maximum(coefficient_.relative(deviation), power_.relative(deviation));
  const T& lost = coefficient_.floor;  // at least that of the plain exponential
  const T relative = either + moved_.more * (1 + either);
  const T off = relative * p;
  T error, floor;
  if (plain_) {
    error = off + model_.roundoff * (element.difference + off);
    floor = lost * (1 + model_.roundoff) + model_.sum_floor;
  } else {
    const T magnitude = factor_ * p + element.subtrahend;
    const T of_terms = factor_ * off + factor_error_ * (p + off);
    error = terms_.error(magnitude, of_terms);
    floor = terms_.factor * ((factor_ + factor_error_) * lost + 6 * (model_.product_floor + model_.sum_floor));
  }
  T difference = element.difference;
  // Upstream may multiply the difference, or each of its addends, before the slope does.
  T early = times_upstream(difference, error, floor);
  if (!plain_) early = maximum(early, addends_lost(element, off));
  if (options_.softcap != 0) {
    // tanh^2 from tanh, or from the capped logit over the cap: twice its log error and two roundings; then 1 minus it.
    const T square = square_error_ * element.cap_square;
    const T slope_error = square + model_.roundoff * (element.cap_slope + square) + 4 * model_.product_floor;
    const T product = one_.error(element.cap_slope, slope_error);
    const T slope = one_.factor * (element.cap_slope + slope_error);
    early = early * slope + late_product_;
    floor = floor * slope + model_.product_floor;
    error = error * (element.cap_slope + product) + difference * product;
    difference = difference * element.cap_slope;
  }
  const T rounding = upstream_ * two_.error(difference, error);
  floor = maximum(early, times_upstream(difference, error, floor));
  return model_.output(rounding, upstream_ * difference, floor);
}

template ScalarThreshold<UpperBound> cross_entropy_error<UpperBound>(const Contract&, const CrossEntropyOptions&,
                                                                     const CrossEntropyRow<UpperBound>&, Grants);
template ScalarThreshold<Enclosure> cross_entropy_error<Enclosure>(const Contract&, const CrossEntropyOptions&,
                                                                   const CrossEntropyRow<Enclosure>&, Grants);
template UpperBound cross_entropy_count_error<UpperBound>(const Contract&, std::uint64_t);
template Enclosure cross_entropy_count_error<Enclosure>(const Contract&, std::uint64_t);
template UpperBound cross_entropy_divisor_error<UpperBound>(const Contract&, std::uint64_t, bool);
template Enclosure cross_entropy_divisor_error<Enclosure>(const Contract&, std::uint64_t, bool);
template ScalarThreshold<UpperBound> cross_entropy_mean_error<UpperBound>(const Contract&, std::uint64_t,
                                                                          const UpperBound&, const UpperBound&, double,
                                                                          bool);
template ScalarThreshold<Enclosure> cross_entropy_mean_error<Enclosure>(const Contract&, std::uint64_t,
                                                                        const Enclosure&, const Enclosure&, double,
                                                                        bool);
template class CrossEntropyGradientThreshold<UpperBound>;
template class CrossEntropyGradientThreshold<Enclosure>;

}  // namespace softcheck::numerics
