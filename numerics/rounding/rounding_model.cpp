#include "numerics/rounding/rounding_model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace softcheck::numerics {

namespace {

// ln 2 = 0.693147180559945309..., between this double and the next.
constexpr double log_two_below = 0x1.62e42fefa39efp-1;

template <class T>
T log_two() {
  return T(std::nextafter(log_two_below, 1.0));
}

// 1/24, rounded up.
template <class T>
T over_twenty_four() {
  return T(0x1.5555555555556p-5);
}

// The smallest subnormal number is 2^-this.
int underflow_bits(const FormatProperties& p) { return p.precision - 1 - p.min_exponent; }

// 1 / theta, rounded up.
template <class T>
T reciprocal_of(double theta) {
  const double above = std::nextafter(1 / theta, std::numeric_limits<double>::infinity());
  return std::isfinite(above) ? T(above) : unbounded<T>();
}

// Exponentials with a floor do not vanish where an item is masked.
template <class T>
std::uint64_t added_items(const Contract& contract, const RowStatistics<T>& row) {
  return contract.least_exp == 0 ? row.visible : std::max(row.size, row.visible);
}

}  // namespace

template <class T>
RoundingModel<T>::RoundingModel(const Contract& contract, const RowStatistics<T>& row, Grants grants)
    : OperationModel<T>(contract),
      visible(T(static_cast<double>(added_items(contract, row)))),
      accumulator_(contract.accumulator),
      flushed_(contract.subnormals == Subnormals::flushed) {
  if (row.visible == 0) throw std::invalid_argument("rounding: need a visible item, got a fully masked row");
  if (!(row.theta > 0) || !std::isfinite(row.theta)) {
    throw std::invalid_argument("rounding: need a finite theta > 0, got " + std::to_string(row.theta));
  }
  rescalings = grants == Grants::all ? T(static_cast<double>(row.rescalings)) : T(0);
  rescaled = grants == Grants::all && row.rescalings > 0;
  reciprocal = grants == Grants::all;
  set_stored(contract);
  set_argument(contract, row);
  set_row(contract, row);
  set_quotient(row);
  // The weight of a floor may multiply any deviation: no entropy has a bound.
  if (contract.least_exp != 0) exp_cutoff = quantities.exp_cutoff = unbounded<T>();
}

template <class T>
void RoundingModel<T>::set_stored(const Contract& contract) {
  const StorageError<T> weights = weights_error<T>(contract);
  item_unit = exp_unit + weights.unit;
  item_floor = exp_floor + weights.floor;
  total_unit = storage_error<T>(contract, contract.total).unit;  // S >= 1: nothing underflows
}

template <class T>
void RoundingModel<T>::set_argument(const Contract& contract, const RowStatistics<T>& row) {
  const FormatProperties& p = properties(contract.accumulator);
  const bool scaled = row.theta != 1;
  if (scaled && contract.theta == ThetaUse::before) return set_scaled_logits(contract, row);
  argument_steps = contract.exp_argument_error;
  T extra(0);
  if (scaled) {
    // Roundings: the reciprocal and the product, and theta itself if it is not a number of the accumulator. A
    // reciprocal computed in double and narrowed errs by 2^-53 more.
    argument_steps += round_to(contract.accumulator, row.theta) == row.theta ? 2 : 3;
    if (contract.accumulator != Format::f64) extra = minus_log1m(T(properties(Format::f64).unit_roundoff));
    const double inverse = 1 / row.theta;
    if (!(inverse > 2 * p.smallest_normal && inverse < p.largest / 2)) extra = unbounded<T>();
    // A difference that overflows before it is scaled gives weight 0: harmless only if its exponential is 0 anyway.
    const double spread = upper(row.maximum_magnitude + row.largest_magnitude) * row.theta;
    const double largest =
        contract.differences ? std::min(p.largest, properties(*contract.differences).largest) : p.largest;
    const bool harmless = spread < largest / 2 || largest / row.theta > 2 * upper(exp_cutoff);
    if (!harmless) extra = unbounded<T>();
  }
  const StorageError<T> stored = storage_error<T>(contract, contract.differences);
  argument_unit = T(argument_steps) * unit + extra + stored.unit;
  scaling = expm1(T(std::max(argument_steps - 1, 0.0)) * unit + extra);

  // Differences of rounded logits telescope along the path: their conversion counts once, for x_i and for the maximum.
  // Every difference and product may underflow.
  const T over_theta = reciprocal_of<T>(row.theta);
  T conversion_floor = flushed_ ? T(p.smallest_normal) : T(0);
  T conversion(0);
  if (!embeds(contract.input, contract.accumulator)) {
    conversion_floor = product_floor;
    conversion = 2 * roundoff * row.largest_magnitude;
    if (!(upper(row.largest_magnitude) * row.theta < p.largest / 2)) conversion = unbounded<T>();
  }
  conversion_ = conversion + 2 * conversion_floor * over_theta;
  // So does a difference that underflows before scaling.
  argument_step_ = scaled ? exp(argument_unit) * sum_floor * over_theta + product_floor : sum_floor;
  argument_step_ = argument_step_ + exp(argument_unit) * stored.floor * maximum(over_theta, T(1));
  keep_to_theorems();
}

// theta=before: each x / theta is rounded separately; from there on the kernel has theta = 1.
template <class T>
void RoundingModel<T>::set_scaled_logits(const Contract& contract, const RowStatistics<T>& row) {
  const FormatProperties& p = properties(contract.accumulator);
  // Roundings: the reciprocal and the product, or a division; theta and the logit if they are not numbers of the
  // accumulator. A reciprocal computed in double and narrowed errs by 2^-53 more.
  const bool converted = !embeds(contract.input, contract.accumulator);
  const int roundings = 2 + (round_to(contract.accumulator, row.theta) == row.theta ? 0 : 1) + (converted ? 1 : 0);
  T extra(0);
  if (contract.accumulator != Format::f64) extra = minus_log1m(T(properties(Format::f64).unit_roundoff));
  const double inverse = 1 / row.theta;
  if (!(inverse > 2 * p.smallest_normal && inverse < p.largest / 2)) extra = unbounded<T>();
  scaling = expm1(T(roundings) * unit + extra);
  // x_i / theta and m / theta together err by scaling (2 |m| / theta + D_i); the slope covers the second part.
  argument_steps = contract.exp_argument_error + roundings;
  const StorageError<T> stored = storage_error<T>(contract, contract.differences);
  argument_unit = T(argument_steps) * unit + extra + stored.unit;
  T shift_of_logits = scaling * row.maximum_magnitude;
  if (!(upper(row.maximum_magnitude + shift_of_logits) < p.largest)) shift_of_logits = unbounded<T>();
  // Differences telescope along the path, like those of converted logits.
  T lost = product_floor;
  if (converted) lost = lost + product_floor * reciprocal_of<T>(row.theta);
  if (!converted && flushed_) lost = lost + T(p.smallest_normal) * reciprocal_of<T>(row.theta);
  conversion_ = 2 * (shift_of_logits + lost);
  argument_step_ = sum_floor + exp(argument_unit) * stored.floor;
  keep_to_theorems();
}

// The theorems' assumptions about an arithmetic (sound in theory/proofs/floating_point/standard_model.v): they cover no
// steeper arguments, and no larger loss of one difference.
template <class T>
void RoundingModel<T>::keep_to_theorems() {
  if (upper(expm1(argument_unit)) <= 0.25 && upper(argument_step_) <= 0.5) return;
  argument_unit = argument_step_ = scaling = unbounded<T>();
}

template <class T>
void RoundingModel<T>::set_quantities(const Contract& contract, const RowStatistics<T>& row) {
  formulas::Quantities<T>& q = quantities;
  q.roundoff = roundoff;
  q.exp_error = T(contract.exp_error) * roundoff;
  q.log_error = log_roundoff;
  q.argument_unit = argument_unit;
  q.argument_step = argument_step_;
  q.sum_floor = sum_floor;
  q.product_floor = product_floor;
  q.exp_floor = exp_floor;
  q.exp_cutoff = exp_cutoff;
  q.item_unit = item_unit;
  q.item_floor = item_floor;
  q.total_unit = total_unit;
  q.rescalings = rescalings;
  q.rescaled = rescaled;
  q.visible = visible;
  q.conversion = conversion_;
  q.scaling = scaling;
  q.divisions = q.lost_quotients = T(reciprocal ? 2 : 1);
  q.mean_deviation = row.mean_deviation;
  q.mean_square_deviation = row.mean_square_deviation;
  q.log_sum = row.log_sum;
  q.maximum_magnitude = row.maximum_magnitude;
  q.logsumexp_magnitude = row.logsumexp_magnitude;
  q.entropy_magnitude = row.log_sum + row.mean_deviation;
  q.output_unit = output_unit;
  q.output_roundoff = output_roundoff;
  q.output_floor = output_floor;
}

template <class T>
void RoundingModel<T>::set_row(const Contract& contract, const RowStatistics<T>& row) {
  set_quantities(contract, row);
  // Adding a masked item's zero is exact, so no item has more than visible - 1 roundings.
  const std::uint64_t steps = std::min(summation_height(contract, row.size), added_items(contract, row) - 1);
  quantities.height = T(static_cast<double>(steps));
  sums = formulas::SumBounds<T>(quantities);
  slope = sums.slope;
  argument_floor = sums.argument_floor;
  height = sums.height_log;
  rescale_unit = sums.rescale_unit;
  second = sums.second;
  third = sums.third;
  shift = sums.shift;
  first_excess = sums.first_excess;
  sum_loss = sums.sum_loss;
  sum_log = sums.sum_log;
}

template <class T>
void RoundingModel<T>::set_quotient(const RowStatistics<T>& row) {
  quotient = unit;
  quantities.reciprocal_error = T(0);
  if (!reciprocal) return;
  // Below N a reciprocal errs by omega_m, relatively omega_m S_hat. Only f16 has such large sums.
  const T largest_sum = exp(row.log_sum + sum_log);
  const bool normal = upper(largest_sum) <= 1 / properties(accumulator_).smallest_normal;
  quantities.reciprocal_error = normal ? roundoff : roundoff + product_floor * largest_sum;
  quotient = quotient + minus_log1m(quantities.reciprocal_error);
}

template <class T>
ElementThreshold<T> RoundingModel<T>::element(const T& constant, const T& rate, const T& floor) const {
  // From this deviation on, p and the computed value before underflow are below 2^-11 of the smallest number.
  const FormatProperties& p = properties(accumulator_);
  formulas::Quantities<T> q;
  q.chord_log = constant;
  q.chord_rate = rate;
  q.quantum_log = T(underflow_bits(p) + 11) * log_two<T>();
  q.twenty_fourth = over_twenty_four<T>();
  const formulas::ChordBounds<T> chord(q);
  return {chord.chord_constant, chord.chord_slope, floor + T(p.smallest_subnormal) * T(0x1p-11)};
}

template struct RoundingModel<UpperBound>;
template struct RoundingModel<Enclosure>;

}  // namespace softcheck::numerics
