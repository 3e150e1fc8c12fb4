// Generated from theory/proofs by proptests/tests/proofs/formulas.sh: right-hand sides of the rounding theorems, as Coq
// prints them. Not to be edited.
// clang-format off
#pragma once

namespace softcheck::numerics::formulas {

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

/// B1, and what the bounds have in common.
template <class T>
struct SumBounds {
  SumBounds() = default;
  explicit SumBounds(const Quantities<T>& q)
      : unit(minus_log1m(q.roundoff)),
        exp_unit(minus_log1m(q.exp_error)),
        slope(expm1(q.argument_unit)),
        second(square(log((q.visible + exp(T(1)))) * over_one_minus(slope))),
        third(cube(log((q.visible + exp(T(2)))) * over_one_minus(slope))),
        shift((slope * q.mean_deviation + square(slope) * T(0.5) * second)),
        first_excess((slope * q.mean_square_deviation + square(slope) * T(0.5) * exp(shift) * third)),
        argument_floor(((q.rescalings + T(1)) * q.argument_step + (T(1) + slope) * q.conversion)),
        height_log(q.height * unit),
        rescale_unit(q.rescalings * (exp_unit + unit)),
        direct_log((((height_log + q.item_unit) + rescale_unit) + argument_floor)),
        sigma_0((direct_log + shift)),
        lost(((q.item_floor + q.sum_floor) + (q.rescaled ? (T(2) * q.exp_floor + T(2) * q.product_floor) : T(0)))),
        sum_loss(q.visible * lost),
        sum_log(((sigma_0 + minus_log1m(sum_loss * exp(T(2) * sigma_0))) + q.total_unit)) {}
  T unit, exp_unit, slope, second, third, shift, first_excess, argument_floor, height_log, rescale_unit, direct_log, sigma_0, lost, sum_loss, sum_log;
};

/// B2 and B4.
template <class T>
struct ElementBounds {
  ElementBounds() = default;
  ElementBounds(const Quantities<T>& q, const SumBounds<T>& before)
      : numerator_log(((q.item_unit + before.argument_floor) + (q.rescaled ? (before.exp_unit + before.unit) : T(0)))),
        numerator_loss((q.item_floor + (q.rescaled ? (q.exp_floor + q.product_floor) : T(0)))),
        ratio_log((q.divisions * before.unit + q.output_unit)),
        element_log(((numerator_log + before.sum_log) + ratio_log)),
        element_floor(((numerator_loss + q.lost_quotients * q.product_floor) * exp(element_log) + q.output_floor)),
        row_sum_rounding(expm1((((numerator_log + before.shift) + before.sum_log) + ratio_log))),
        row_sum_lost(q.visible * element_floor),
        shared_lost(q.visible * q.sum_floor * exp((before.height_log + before.sum_log))),
        shared_rounding(expm1((((before.height_log + minus_log1m(shared_lost)) + q.total_unit) + ratio_log))) {}
  T numerator_log, numerator_loss, ratio_log, element_log, element_floor, row_sum_rounding, row_sum_lost, shared_lost, shared_rounding;
};

/// B5: a log-sum-exp; x - max - ln S and x - L, linear in the deviation.
template <class T>
struct LogarithmBounds {
  LogarithmBounds() = default;
  LogarithmBounds(const Quantities<T>& q, const SumBounds<T>& before)
      : log_sum_error((before.sum_log + q.log_error * (q.log_sum + before.sum_log))),
        logsumexp_parts(((log_sum_error + q.scaling * q.maximum_magnitude) + before.argument_floor)),
        logsumexp_rounding((logsumexp_parts + q.roundoff * (q.logsumexp_magnitude + logsumexp_parts))),
        logsumexp_floor((T(2) * q.product_floor * (T(1) + q.roundoff) + q.sum_floor)),
        logsumexp_output((logsumexp_rounding + q.output_roundoff * (q.logsumexp_magnitude + logsumexp_rounding))),
        logsumexp_lost((logsumexp_floor * (T(1) + q.output_roundoff) + q.output_floor)),
        centred_parts((log_sum_error + before.argument_floor)),
        centred_rounded((centred_parts + q.roundoff * (q.log_sum + centred_parts))),
        centred_constant((centred_rounded + q.output_roundoff * (q.log_sum + centred_rounded))),
        centred_steeper((before.slope + q.roundoff * (T(1) + before.slope))),
        centred_slope((centred_steeper + q.output_roundoff * (T(1) + centred_steeper))),
        centred_lost(((q.product_floor * (T(1) + q.roundoff) + q.sum_floor) * (T(1) + q.output_roundoff) + q.output_floor)),
        uncentred_parts(((logsumexp_rounding + q.scaling * q.maximum_magnitude) + before.argument_floor)),
        uncentred_rounded((uncentred_parts + q.roundoff * (q.log_sum + uncentred_parts))),
        uncentred_constant((uncentred_rounded + q.output_roundoff * (q.log_sum + uncentred_rounded))),
        uncentred_steeper((q.scaling + q.roundoff * (T(1) + q.scaling))),
        uncentred_slope((uncentred_steeper + q.output_roundoff * (T(1) + uncentred_steeper))),
        uncentred_lost((((logsumexp_floor + q.product_floor) * (T(1) + q.roundoff) + q.sum_floor) * (T(1) + q.output_roundoff) + q.output_floor)) {}
  T log_sum_error, logsumexp_parts, logsumexp_rounding, logsumexp_floor, logsumexp_output, logsumexp_lost, centred_parts, centred_rounded, centred_constant, centred_steeper, centred_slope, centred_lost, uncentred_parts, uncentred_rounded, uncentred_constant, uncentred_steeper, uncentred_slope, uncentred_lost;
};

/// B6.
template <class T>
struct MomentBounds {
  MomentBounds() = default;
  MomentBounds(const Quantities<T>& q, const SumBounds<T>& before)
      : log_sum_error((before.sum_log + q.log_error * (q.log_sum + before.sum_log))),
        moment_log((((((before.height_log + q.item_unit) + q.rescalings * (before.exp_unit + T(2) * before.unit)) + before.unit) + q.argument_unit) + (q.rescalings + T(1)) * q.argument_step)),
        reciprocal_unit(minus_log1m(q.reciprocal_error)),
        quotient_log((((moment_log + (T(1) + before.slope) * q.conversion) + before.sum_log) + (before.unit + reciprocal_unit))),
        lost_moment((((q.item_floor * q.exp_cutoff + q.product_floor) + q.sum_floor) + (q.rescaled ? ((T(4) * q.exp_floor * q.exp_cutoff + T(3) * q.product_floor) + q.sum_floor) : T(0)))),
        beside_mean((before.argument_floor * (exp(before.shift) + before.sum_loss) + q.visible * lost_moment)),
        mean_error((expm1(quotient_log) * q.mean_deviation + exp(quotient_log) * (before.first_excess + beside_mean))),
        entropy_parts((log_sum_error + mean_error)),
        entropy_rounding((entropy_parts + q.roundoff * (q.entropy_magnitude + entropy_parts))),
        entropy_floor((T(2) * q.product_floor * (T(1) + q.roundoff) + q.sum_floor)),
        entropy_output((entropy_rounding + q.output_roundoff * (q.entropy_magnitude + entropy_rounding))),
        entropy_lost((entropy_floor * (T(1) + q.output_roundoff) + q.output_floor)) {}
  T log_sum_error, moment_log, reciprocal_unit, quotient_log, lost_moment, beside_mean, mean_error, entropy_parts, entropy_rounding, entropy_floor, entropy_output, entropy_lost;
};

/// B7.
template <class T>
struct UncentredMomentBounds {
  UncentredMomentBounds() = default;
  UncentredMomentBounds(const Quantities<T>& q, const SumBounds<T>& before)
      : log_sum_error((before.sum_log + q.log_error * (q.log_sum + before.sum_log))),
        reciprocal_unit(minus_log1m(q.reciprocal_error)),
        factor_unit(minus_log1m(q.scaling)),
        factor_log((((((before.height_log + q.item_unit) + before.rescale_unit) + before.unit) + before.argument_floor) + factor_unit)),
        uncentred_mean_log((factor_log + (before.sum_log + (before.unit + reciprocal_unit)))),
        mean_size((q.maximum_magnitude + q.mean_deviation)),
        mean_excess((before.slope * (q.maximum_magnitude * q.mean_deviation + q.mean_square_deviation) + square(before.slope) * T(0.5) * exp(before.shift) * (q.maximum_magnitude * before.second + before.third))),
        lost_logit(((q.maximum_magnitude + q.conversion) + ((T(1) + before.slope) * (q.exp_cutoff + q.argument_step) + T(1)))),
        lost_logits(q.visible * (((q.item_floor * lost_logit + q.product_floor) + q.sum_floor) + (q.rescaled ? (T(2) * q.exp_floor * lost_logit + T(2) * q.product_floor) : T(0)))),
        uncentred_mean_error((expm1(uncentred_mean_log) * mean_size + exp(uncentred_mean_log) * ((mean_excess + before.argument_floor * (exp(before.shift) + before.sum_loss)) + lost_logits))),
        entropy_uncentred_parts((((log_sum_error + q.scaling * q.maximum_magnitude) + before.argument_floor) + uncentred_mean_error)),
        entropy_uncentred_first((entropy_uncentred_parts + q.roundoff * (((q.maximum_magnitude + q.log_sum) + mean_size) + entropy_uncentred_parts))),
        entropy_uncentred_rounding((entropy_uncentred_first + q.roundoff * (q.entropy_magnitude + entropy_uncentred_first))),
        entropy_uncentred_output((entropy_uncentred_rounding + q.output_roundoff * (q.entropy_magnitude + entropy_uncentred_rounding))),
        entropy_uncentred_lost((((T(3) * q.product_floor * (T(1) + q.roundoff) + q.sum_floor) * (T(1) + q.roundoff) + q.sum_floor) * (T(1) + q.output_roundoff) + q.output_floor)) {}
  T log_sum_error, reciprocal_unit, factor_unit, factor_log, uncentred_mean_log, mean_size, mean_excess, lost_logit, lost_logits, uncentred_mean_error, entropy_uncentred_parts, entropy_uncentred_first, entropy_uncentred_rounding, entropy_uncentred_output, entropy_uncentred_lost;
};

/// The chord of an element's threshold: of quantities of its own.
template <class T>
struct ChordBounds {
  ChordBounds() = default;
  explicit ChordBounds(const Quantities<T>& q)
      : chord_end((q.chord_log + q.quantum_log) * over_one_minus(q.chord_rate)),
        chord_step(q.chord_rate * chord_end),
        chord_constant(expm1(q.chord_log)),
        chord_slope(q.chord_rate * exp(((q.chord_log + chord_step * T(0.5)) + square(chord_step) * q.twenty_fourth))) {}
  T chord_end, chord_step, chord_constant, chord_slope;
};

namespace variation {

/// A threshold of elements, and the row: theory/proofs/numerics/output_formulas.v.
template <class T>
struct Quantities {
  T constant{};
  T slope{};
  T floor{};
  T visible{};
  T mean_deviation{};
};

/// B3.
template <class T>
struct TotalVariationBounds {
  TotalVariationBounds() = default;
  explicit TotalVariationBounds(const Quantities<T>& q)
      : total_variation(((q.constant + q.slope * q.mean_deviation) + q.visible * q.floor)) {}
  T total_variation;
};

}  // namespace variation

namespace coefficients {

/// What the formulas of B6d speak of: theory/proofs/numerics/coefficient_formulas.v.
template <class T>
struct Quantities {
  T unit{};
  T numerator_log{};
  T sum_log{};
  T divisions{};
  T height_log{};
  T slope{};
  T shift{};
  T first_excess{};
  T mean_deviation{};
  T log_sum{};
  T log_error{};
  T entropy{};
  T epsilon{};
  T numerator_loss{};
  T lost_quotients{};
  T product_floor{};
  T sum_floor{};
  T visible{};
  T smallest_log{};
};

/// B6d: an entropy from coefficients.
template <class T>
struct DirectBounds {
  DirectBounds() = default;
  explicit DirectBounds(const Quantities<T>& q)
      : kept_log(((q.numerator_log + q.sum_log) + q.divisions * q.unit)),
        total_log(((kept_log + q.height_log) + q.unit)),
        moment_excess((q.first_excess + q.log_sum * expm1(q.shift))),
        log_part((((kept_log + T(2) * q.unit) * exp(q.shift) + q.slope * (q.mean_deviation + q.first_excess)) * (T(1) + q.log_error) + q.log_error * ((q.entropy + moment_excess) + q.epsilon * exp(q.shift)))),
        coefficients_rounding((expm1(total_log) * (q.entropy + q.epsilon) + exp(total_log) * ((moment_excess + q.epsilon * expm1(q.shift)) + log_part))),
        kept_floor((q.numerator_loss + q.lost_quotients * q.product_floor) * exp(kept_log)),
        logarithm_size((((q.smallest_log + ((kept_log + q.unit) + q.epsilon)) + q.unit) + T(1))),
        term_loss(((kept_floor * logarithm_size * (T(1) + q.log_error) + (exp(kept_log) + kept_floor) * q.product_floor) * exp(q.unit) + q.product_floor)),
        coefficients_lost(exp(q.height_log) * q.visible * (term_loss + q.sum_floor)) {}
  T kept_log, total_log, moment_excess, log_part, coefficients_rounding, kept_floor, logarithm_size, term_loss, coefficients_lost;
};

}  // namespace coefficients

namespace logarithms {

/// What the formulas of B6d from a log-softmax speak of: theory/proofs/numerics/log_softmax_formulas.v.
template <class T>
struct Quantities {
  T unit{};
  T numerator_log{};
  T sigma_0{};
  T sum_loss{};
  T total_unit{};
  T divisions{};
  T slope{};
  T numerator_loss{};
  T lost_quotients{};
  T cutoff{};
  T logarithm_constant{};
  T logarithm_slope{};
  T height_log{};
  T shift{};
  T first_excess{};
  T mean_deviation{};
  T log_sum{};
  T entropy{};
  T product_floor{};
  T sum_floor{};
  T visible{};
};

/// B6d: an entropy from the logarithms of a log-softmax.
template <class T>
struct EntropyBounds {
  EntropyBounds() = default;
  explicit EntropyBounds(const Quantities<T>& q)
      : logarithm_log((q.logarithm_constant + T(2) * q.slope * q.logarithm_constant)),
        moved_sigma_0((q.sigma_0 + logarithm_log)),
        moved_sigma(((moved_sigma_0 + minus_log1m(q.sum_loss * exp(T(2) * moved_sigma_0))) + q.total_unit)),
        coefficient_log((((q.numerator_log + logarithm_log) + moved_sigma) + q.divisions * q.unit)),
        coefficient_loss((q.numerator_loss + q.lost_quotients * q.product_floor) * exp(coefficient_log)),
        total_log(((coefficient_log + q.height_log) + q.unit)),
        logarithms_rounding((expm1(total_log) * q.entropy + exp(total_log) * (((q.first_excess + q.log_sum * expm1(q.shift)) + q.logarithm_constant * exp(q.shift)) + q.logarithm_slope * (q.mean_deviation + q.first_excess)))),
        logarithm_loss((coefficient_loss * ((q.cutoff * (T(1) + q.logarithm_slope) + q.log_sum) + q.logarithm_constant) * exp(q.unit) + q.product_floor)),
        logarithms_lost(exp(q.height_log) * q.visible * (logarithm_loss + q.sum_floor)) {}
  T logarithm_log, moved_sigma_0, moved_sigma, coefficient_log, coefficient_loss, total_log, logarithms_rounding, logarithm_loss, logarithms_lost;
};

}  // namespace logarithms

namespace temperature {

/// What the formulas of B10 speak of: theory/proofs/numerics/temperature_formulas.v.
template <class T>
struct Quantities {
  T roundoff{};
  T sum_floor{};
  T product_floor{};
  T entropy{};
  T entropy_error{};
  T lipschitz{};
  T coefficient_0{};
  T coefficient_1{};
  T coefficient_2{};
  T coefficient_3{};
  T coefficient_4{};
  T visible{};
  T tau{};
  T mean_deviation{};
  T wider{};
  T element_log{};
  T argument_slope{};
};

/// B10: the error of beta.
template <class T>
struct BetaBounds {
  BetaBounds() = default;
  explicit BetaBounds(const Quantities<T>& q)
      : horner_log(T(9) * minus_log1m(q.roundoff)),
        magnitude((q.coefficient_0 + q.entropy * (q.coefficient_1 + q.entropy * (q.coefficient_2 + q.entropy * (q.coefficient_3 + q.entropy * q.coefficient_4))))),
        powers((T(1) + q.entropy * (T(1) + q.entropy * (T(1) + q.entropy * (T(1) + q.entropy))))),
        polynomial_floor(T(2) * (q.sum_floor + q.product_floor) * powers),
        beta_error(((q.lipschitz * q.entropy_error + expm1(horner_log) * magnitude) + exp(horner_log) * polynomial_floor)) {}
  T horner_log, magnitude, powers, polynomial_floor, beta_error;
};

/// B10: the mean deviation at a beta that errs.
template <class T>
struct MeanBounds {
  MeanBounds() = default;
  explicit MeanBounds(const Quantities<T>& q)
      : wider_mean((q.mean_deviation + q.tau * square(log((q.visible + exp(T(1)))) * over_one_minus(q.tau)))),
        moved_mean((T(1) + q.tau) * wider_mean) {}
  T wider_mean, moved_mean;
};

/// B10: log error of a coefficient, and its rate in the deviation.
template <class T>
struct CoefficientBounds {
  CoefficientBounds() = default;
  explicit CoefficientBounds(const Quantities<T>& q)
      : coefficient_log((q.element_log + q.tau * q.wider)),
        rate((q.argument_slope * (T(1) + q.tau) + q.tau)) {}
  T coefficient_log, rate;
};

}  // namespace temperature

}  // namespace softcheck::numerics::formulas
