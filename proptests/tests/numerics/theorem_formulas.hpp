// Generated from theory/proofs by proptests/tests/proofs/formulas.sh: the right-hand sides of the rounding theorems
// and the numbers of adaptive temperature, as Coq prints them. Not to be edited.
// clang-format off
#pragma once

#include <array>

namespace softcheck::theorems {

/// What the formulas speak of: theory/proofs/numerics/theorem_formulas.v.
template <class T>
struct Quantities {
  T roundoff{};
  T exp_error{};
  T log_error{};
  T argument_unit{};
  T argument_step{};
  T sum_floor{};
  T product_floor{};
  T exp_floor{};
  T height{};
  T rescalings{};
  T visible{};
  T conversion{};
  T mean_deviation{};
  T log_sum{};
  T maximum_magnitude{};
  T logsumexp_magnitude{};
  T deviation{};
  T output_unit{};
  T output_roundoff{};
  T output_floor{};
  T quantum{};
  T scaling{};
  T mean_square_deviation{};
  T entropy_magnitude{};
  T exp_cutoff{};
  T reciprocal_error{};
  T dimension{};
  T readings{};
  T scale_magnitude{};
  T dot_magnitude{};
  T item_unit{};
  T item_floor{};
  T total_unit{};
  T divisions{};
  T lost_quotients{};
  T chord_log{};
  T chord_rate{};
  T quantum_log{};
  T twenty_fourth{};
  bool rescaled = false;
};

template <class T>
T square(const T& x) {
  return x * x;
}

template <class T>
T cube(const T& x) {
  return x * x * x;
}

template <class T>
T unit(const Quantities<T>& q) {
  return minus_log1m(q.roundoff);
}

template <class T>
T exp_unit(const Quantities<T>& q) {
  return minus_log1m(q.exp_error);
}

template <class T>
T slope(const Quantities<T>& q) {
  return expm1(q.argument_unit);
}

template <class T>
T second(const Quantities<T>& q) {
  return square(log((q.visible + exp(T(1)))) * over_one_minus(slope(q)));
}

template <class T>
T third(const Quantities<T>& q) {
  return cube(log((q.visible + exp(T(2)))) * over_one_minus(slope(q)));
}

template <class T>
T shift(const Quantities<T>& q) {
  return (slope(q) * q.mean_deviation + square(slope(q)) * T(0.5) * second(q));
}

template <class T>
T first_excess(const Quantities<T>& q) {
  return (slope(q) * q.mean_square_deviation + square(slope(q)) * T(0.5) * exp(shift(q)) * third(q));
}

template <class T>
T argument_floor(const Quantities<T>& q) {
  return ((q.rescalings + T(1)) * q.argument_step + (T(1) + slope(q)) * q.conversion);
}

template <class T>
T height_log(const Quantities<T>& q) {
  return q.height * unit(q);
}

template <class T>
T rescale_unit(const Quantities<T>& q) {
  return q.rescalings * (exp_unit(q) + unit(q));
}

template <class T>
T direct_log(const Quantities<T>& q) {
  return (((height_log(q) + q.item_unit) + rescale_unit(q)) + argument_floor(q));
}

template <class T>
T sigma_0(const Quantities<T>& q) {
  return (direct_log(q) + shift(q));
}

template <class T>
T lost(const Quantities<T>& q) {
  return ((q.item_floor + q.sum_floor) + (q.rescaled ? (T(2) * q.exp_floor + T(2) * q.product_floor) : T(0)));
}

template <class T>
T sum_loss(const Quantities<T>& q) {
  return q.visible * lost(q);
}

template <class T>
T sum_log(const Quantities<T>& q) {
  return ((sigma_0(q) + minus_log1m(sum_loss(q) * exp(T(2) * sigma_0(q)))) + q.total_unit);
}

template <class T>
T numerator_log(const Quantities<T>& q) {
  return ((q.item_unit + argument_floor(q)) + (q.rescaled ? (exp_unit(q) + unit(q)) : T(0)));
}

template <class T>
T numerator_loss(const Quantities<T>& q) {
  return (q.item_floor + (q.rescaled ? (q.exp_floor + q.product_floor) : T(0)));
}

template <class T>
T ratio_log(const Quantities<T>& q) {
  return (q.divisions * unit(q) + q.output_unit);
}

template <class T>
T element_log(const Quantities<T>& q) {
  return ((numerator_log(q) + sum_log(q)) + ratio_log(q));
}

template <class T>
T element_floor(const Quantities<T>& q) {
  return ((numerator_loss(q) + q.lost_quotients * q.product_floor) * exp(element_log(q)) + q.output_floor);
}

template <class T>
T row_sum_rounding(const Quantities<T>& q) {
  return expm1((((numerator_log(q) + shift(q)) + sum_log(q)) + ratio_log(q)));
}

template <class T>
T chord_end(const Quantities<T>& q) {
  return (q.chord_log + q.quantum_log) * over_one_minus(q.chord_rate);
}

template <class T>
T chord_step(const Quantities<T>& q) {
  return q.chord_rate * chord_end(q);
}

template <class T>
T chord_constant(const Quantities<T>& q) {
  return expm1(q.chord_log);
}

template <class T>
T chord_slope(const Quantities<T>& q) {
  return q.chord_rate * exp(((q.chord_log + chord_step(q) * T(0.5)) + square(chord_step(q)) * q.twenty_fourth));
}

template <class T>
T log_sum_error(const Quantities<T>& q) {
  return (sum_log(q) + q.log_error * (q.log_sum + sum_log(q)));
}

template <class T>
T logsumexp_parts(const Quantities<T>& q) {
  return ((log_sum_error(q) + q.scaling * q.maximum_magnitude) + argument_floor(q));
}

template <class T>
T logsumexp_rounding(const Quantities<T>& q) {
  return (logsumexp_parts(q) + q.roundoff * (q.logsumexp_magnitude + logsumexp_parts(q)));
}

template <class T>
T moment_log(const Quantities<T>& q) {
  return (((((height_log(q) + q.item_unit) + q.rescalings * (exp_unit(q) + T(2) * unit(q))) + unit(q)) + q.argument_unit) + (q.rescalings + T(1)) * q.argument_step);
}

template <class T>
T reciprocal_unit(const Quantities<T>& q) {
  return minus_log1m(q.reciprocal_error);
}

template <class T>
T quotient_log(const Quantities<T>& q) {
  return (((moment_log(q) + (T(1) + slope(q)) * q.conversion) + sum_log(q)) + (unit(q) + reciprocal_unit(q)));
}

template <class T>
T lost_moment(const Quantities<T>& q) {
  return (((q.item_floor * q.exp_cutoff + q.product_floor) + q.sum_floor) + (q.rescaled ? ((T(4) * q.exp_floor * q.exp_cutoff + T(3) * q.product_floor) + q.sum_floor) : T(0)));
}

template <class T>
T beside_mean(const Quantities<T>& q) {
  return (argument_floor(q) * (exp(shift(q)) + sum_loss(q)) + q.visible * lost_moment(q));
}

template <class T>
T mean_error(const Quantities<T>& q) {
  return (expm1(quotient_log(q)) * q.mean_deviation + exp(quotient_log(q)) * (first_excess(q) + beside_mean(q)));
}

template <class T>
T entropy_parts(const Quantities<T>& q) {
  return (log_sum_error(q) + mean_error(q));
}

template <class T>
T entropy_rounding(const Quantities<T>& q) {
  return (entropy_parts(q) + q.roundoff * (q.entropy_magnitude + entropy_parts(q)));
}

template <class T>
T last_deviation(const Quantities<T>& q) {
  return (element_log(q) + log(T(2048) / q.quantum)) / ((T(1) - slope(q)));
}

template <class T>
T threshold_constant(const Quantities<T>& q) {
  return (exp(element_log(q)) - T(1));
}

template <class T>
T threshold_slope(const Quantities<T>& q) {
  return slope(q) * exp(((element_log(q) + slope(q) * last_deviation(q) / T(2)) + square(slope(q) * last_deviation(q)) / T(24)));
}

template <class T>
T threshold_floor(const Quantities<T>& q) {
  return q.quantum / T(2048);
}

template <class T>
T row_sum(const Quantities<T>& q) {
  return (row_sum_rounding(q) + q.visible * element_floor(q));
}

template <class T>
T logsumexp_floor(const Quantities<T>& q) {
  return (T(2) * q.product_floor * (T(1) + q.roundoff) + q.sum_floor);
}

template <class T>
T logsumexp(const Quantities<T>& q) {
  return ((logsumexp_rounding(q) + q.output_roundoff * (q.logsumexp_magnitude + logsumexp_rounding(q))) + (logsumexp_floor(q) * (T(1) + q.output_roundoff) + q.output_floor));
}

template <class T>
T log_softmax_first(const Quantities<T>& q) {
  return ((log_sum_error(q) + argument_floor(q)) + slope(q) * q.deviation);
}

template <class T>
T log_softmax_second(const Quantities<T>& q) {
  return (log_softmax_first(q) + q.roundoff * ((q.deviation + q.log_sum) + log_softmax_first(q)));
}

template <class T>
T log_softmax(const Quantities<T>& q) {
  return ((log_softmax_second(q) + q.output_roundoff * ((q.deviation + q.log_sum) + log_softmax_second(q))) + ((q.product_floor * (T(1) + q.roundoff) + q.sum_floor) * (T(1) + q.output_roundoff) + q.output_floor));
}

template <class T>
T uncentred_first(const Quantities<T>& q) {
  return ((logsumexp_rounding(q) + q.scaling * (q.maximum_magnitude + q.deviation)) + argument_floor(q));
}

template <class T>
T uncentred_second(const Quantities<T>& q) {
  return (uncentred_first(q) + q.roundoff * ((q.deviation + q.log_sum) + uncentred_first(q)));
}

template <class T>
T log_softmax_uncentred(const Quantities<T>& q) {
  return ((uncentred_second(q) + q.output_roundoff * ((q.deviation + q.log_sum) + uncentred_second(q))) + (((logsumexp_floor(q) + q.product_floor) * (T(1) + q.roundoff) + q.sum_floor) * (T(1) + q.output_roundoff) + q.output_floor));
}

template <class T>
T entropy_floor(const Quantities<T>& q) {
  return (T(2) * q.product_floor * (T(1) + q.roundoff) + q.sum_floor);
}

template <class T>
T entropy(const Quantities<T>& q) {
  return ((entropy_rounding(q) + q.output_roundoff * (q.entropy_magnitude + entropy_rounding(q))) + (entropy_floor(q) * (T(1) + q.output_roundoff) + q.output_floor));
}

template <class T>
T score_log(const Quantities<T>& q) {
  return ((q.dimension + T(2)) + q.readings) * unit(q);
}

template <class T>
T score(const Quantities<T>& q) {
  return (q.scale_magnitude * ((exp(score_log(q)) - T(1)) * q.dot_magnitude + exp(score_log(q)) * q.dimension * (q.product_floor + q.sum_floor)) + q.product_floor);
}

template <class T>
T row_sum_lost(const Quantities<T>& q) {
  return q.visible * element_floor(q);
}

template <class T>
T shared_lost(const Quantities<T>& q) {
  return q.visible * q.sum_floor * exp((height_log(q) + sum_log(q)));
}

template <class T>
T shared_rounding(const Quantities<T>& q) {
  return expm1((((height_log(q) + minus_log1m(shared_lost(q))) + q.total_unit) + ratio_log(q)));
}

template <class T>
T factor_unit(const Quantities<T>& q) {
  return minus_log1m(q.scaling);
}

template <class T>
T factor_log(const Quantities<T>& q) {
  return (((((height_log(q) + q.item_unit) + rescale_unit(q)) + unit(q)) + argument_floor(q)) + factor_unit(q));
}

template <class T>
T uncentred_mean_log(const Quantities<T>& q) {
  return (factor_log(q) + (sum_log(q) + (unit(q) + reciprocal_unit(q))));
}

template <class T>
T mean_size(const Quantities<T>& q) {
  return (q.maximum_magnitude + q.mean_deviation);
}

template <class T>
T mean_excess(const Quantities<T>& q) {
  return (slope(q) * (q.maximum_magnitude * q.mean_deviation + q.mean_square_deviation) + square(slope(q)) * T(0.5) * exp(shift(q)) * (q.maximum_magnitude * second(q) + third(q)));
}

template <class T>
T lost_logit(const Quantities<T>& q) {
  return ((q.maximum_magnitude + q.conversion) + ((T(1) + slope(q)) * (q.exp_cutoff + q.argument_step) + T(1)));
}

template <class T>
T lost_logits(const Quantities<T>& q) {
  return q.visible * (((q.item_floor * lost_logit(q) + q.product_floor) + q.sum_floor) + (q.rescaled ? (T(2) * q.exp_floor * lost_logit(q) + T(2) * q.product_floor) : T(0)));
}

template <class T>
T uncentred_mean_error(const Quantities<T>& q) {
  return (expm1(uncentred_mean_log(q)) * mean_size(q) + exp(uncentred_mean_log(q)) * ((mean_excess(q) + argument_floor(q) * (exp(shift(q)) + sum_loss(q))) + lost_logits(q)));
}

template <class T>
T entropy_uncentred_parts(const Quantities<T>& q) {
  return (((log_sum_error(q) + q.scaling * q.maximum_magnitude) + argument_floor(q)) + uncentred_mean_error(q));
}

template <class T>
T entropy_uncentred_first(const Quantities<T>& q) {
  return (entropy_uncentred_parts(q) + q.roundoff * (((q.maximum_magnitude + q.log_sum) + mean_size(q)) + entropy_uncentred_parts(q)));
}

template <class T>
T entropy_uncentred_rounding(const Quantities<T>& q) {
  return (entropy_uncentred_first(q) + q.roundoff * (q.entropy_magnitude + entropy_uncentred_first(q)));
}

template <class T>
T entropy_uncentred_output(const Quantities<T>& q) {
  return (entropy_uncentred_rounding(q) + q.output_roundoff * (q.entropy_magnitude + entropy_uncentred_rounding(q)));
}

template <class T>
T entropy_uncentred_lost(const Quantities<T>& q) {
  return (((T(3) * q.product_floor * (T(1) + q.roundoff) + q.sum_floor) * (T(1) + q.roundoff) + q.sum_floor) * (T(1) + q.output_roundoff) + q.output_floor);
}

/// In thousandths, from H^0 on.
inline constexpr std::array<long long, 5> quartic_thousandths{-1791, 4917, -2300, 481, -37};
/// Digits behind the decimal point: 5, 5, 5, 18, 18, 14, 14.
inline constexpr long long largest_beta_digits = 242139;
inline constexpr long long inactive_from_digits = 594453;
inline constexpr long long lipschitz_digits = 252543;
inline constexpr long long first_root_digits = 848581996009869285;
inline constexpr long long last_root_digits = 5944520827905142861;
inline constexpr long long top_digits = 441240186596567;
inline constexpr long long maximum_digits = 242138770663152;

}  // namespace softcheck::theorems
