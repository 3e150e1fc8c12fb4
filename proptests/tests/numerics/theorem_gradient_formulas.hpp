// Generated from theory/proofs by proptests/tests/proofs/formulas.sh: the right-hand sides of the theorems about
// gradients, as Coq prints them. Not to be edited.
// clang-format off
#pragma once

namespace softcheck::theorems::gradients {

/// What the formulas speak of: theory/proofs/numerics/gradient_formulas.v.
template <class T>
struct Quantities {
  T roundoff{};
  T exp_error{};
  T sum_floor{};
  T product_floor{};
  T exp_floor{};
  T reading_unit{};
  T reading_loss{};
  T product_unit{};
  T product_loss{};
  T output_roundoff{};
  T output_floor{};
  T height{};
  T terms{};
  T magnitude{};
  T mean_magnitude{};
  T largest_coefficient{};
  T largest_upstream{};
  T coefficient{};
  T upstream{};
  T gradient_magnitude{};
  T argument_log{};
  T power{};
  T argument{};
};

/// B12 and B13.
template <class T>
struct GradientBounds {
  GradientBounds() = default;
  explicit GradientBounds(const Quantities<T>& q)
      : unit((T(0) - log((T(1) - q.roundoff)))),
        exp_unit((T(0) - log((T(1) - q.exp_error)))),
        term_log(((T(2) * q.reading_unit + unit) + q.product_unit)),
        term_loss((exp(term_log) * (q.reading_loss * ((q.largest_coefficient + q.largest_upstream) + q.reading_loss) + q.product_floor) + q.product_loss)),
        mean_rounding((exp((term_log + q.height * unit)) - T(1)) * q.magnitude),
        mean_loss(exp(q.height * unit) * (q.terms * term_loss + (q.terms - T(1)) * q.sum_floor)),
        difference_log((T(2) * unit + q.reading_unit)),
        gradient_rounding(q.coefficient * (((exp((term_log + unit)) - T(1)) * q.upstream + (exp(difference_log) - T(1)) * q.mean_magnitude) + exp(difference_log) * mean_rounding)),
        gradient_loss((((q.coefficient * exp(difference_log) * mean_loss + exp((difference_log + q.reading_unit)) * (((q.coefficient + q.reading_loss) * (q.reading_loss + q.sum_floor) + q.reading_loss * (((q.upstream + q.mean_magnitude) + mean_rounding) + mean_loss)) + q.product_floor)) + exp(unit) * term_loss) + q.sum_floor)),
        softmax_gradient(((gradient_rounding + q.output_roundoff * (q.gradient_magnitude + gradient_rounding)) + (gradient_loss * (T(1) + q.output_roundoff) + q.output_floor))),
        total_rounding((exp((q.reading_unit + q.height * unit)) - T(1)) * q.magnitude),
        total_loss(exp(q.height * unit) * (q.terms * q.reading_loss + (q.terms - T(1)) * q.sum_floor)),
        power_log(((((exp(q.argument_log) - T(1)) * q.argument + q.reading_loss) + exp_unit) + unit)),
        product_rounding(q.power * (exp(power_log) * (q.mean_magnitude + total_rounding) - q.mean_magnitude)),
        product_lost(((q.power * exp(power_log) * total_loss + q.exp_floor * exp(unit) * ((q.mean_magnitude + total_rounding) + total_loss)) + q.product_floor)),
        log_gradient_first(((exp(q.reading_unit) - T(1)) * q.upstream + product_rounding)),
        log_gradient_second((log_gradient_first + q.roundoff * (q.gradient_magnitude + log_gradient_first))),
        log_gradient_loss(((q.reading_loss + product_lost) * (T(1) + q.roundoff) + q.sum_floor)),
        log_softmax_gradient(((log_gradient_second + q.output_roundoff * (q.gradient_magnitude + log_gradient_second)) + (log_gradient_loss * (T(1) + q.output_roundoff) + q.output_floor))) {}
  T unit, exp_unit, term_log, term_loss, mean_rounding, mean_loss, difference_log, gradient_rounding, gradient_loss, softmax_gradient, total_rounding, total_loss, power_log, product_rounding, product_lost, log_gradient_first, log_gradient_second, log_gradient_loss, log_softmax_gradient;
};

}  // namespace softcheck::theorems::gradients
