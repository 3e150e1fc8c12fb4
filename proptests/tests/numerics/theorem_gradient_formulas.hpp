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

template <class T>
T unit(const Quantities<T>& q) {
  return (T(0) - log((T(1) - q.roundoff)));
}

template <class T>
T exp_unit(const Quantities<T>& q) {
  return (T(0) - log((T(1) - q.exp_error)));
}

template <class T>
T term_log(const Quantities<T>& q) {
  return ((T(2) * q.reading_unit + unit(q)) + q.product_unit);
}

template <class T>
T term_loss(const Quantities<T>& q) {
  return (exp(term_log(q)) * (q.reading_loss * ((q.largest_coefficient + q.largest_upstream) + q.reading_loss) + q.product_floor) + q.product_loss);
}

template <class T>
T mean_rounding(const Quantities<T>& q) {
  return (exp((term_log(q) + q.height * unit(q))) - T(1)) * q.magnitude;
}

template <class T>
T mean_loss(const Quantities<T>& q) {
  return exp(q.height * unit(q)) * (q.terms * term_loss(q) + (q.terms - T(1)) * q.sum_floor);
}

template <class T>
T difference_log(const Quantities<T>& q) {
  return (T(2) * unit(q) + q.reading_unit);
}

template <class T>
T gradient_rounding(const Quantities<T>& q) {
  return q.coefficient * (((exp((term_log(q) + unit(q))) - T(1)) * q.upstream + (exp(difference_log(q)) - T(1)) * q.mean_magnitude) + exp(difference_log(q)) * mean_rounding(q));
}

template <class T>
T gradient_loss(const Quantities<T>& q) {
  return (((q.coefficient * exp(difference_log(q)) * mean_loss(q) + exp((difference_log(q) + q.reading_unit)) * (((q.coefficient + q.reading_loss) * (q.reading_loss + q.sum_floor) + q.reading_loss * (((q.upstream + q.mean_magnitude) + mean_rounding(q)) + mean_loss(q))) + q.product_floor)) + exp(unit(q)) * term_loss(q)) + q.sum_floor);
}

template <class T>
T softmax_gradient(const Quantities<T>& q) {
  return ((gradient_rounding(q) + q.output_roundoff * (q.gradient_magnitude + gradient_rounding(q))) + (gradient_loss(q) * (T(1) + q.output_roundoff) + q.output_floor));
}

template <class T>
T total_rounding(const Quantities<T>& q) {
  return (exp((q.reading_unit + q.height * unit(q))) - T(1)) * q.magnitude;
}

template <class T>
T total_loss(const Quantities<T>& q) {
  return exp(q.height * unit(q)) * (q.terms * q.reading_loss + (q.terms - T(1)) * q.sum_floor);
}

template <class T>
T power_log(const Quantities<T>& q) {
  return ((((exp(q.argument_log) - T(1)) * q.argument + q.reading_loss) + exp_unit(q)) + unit(q));
}

template <class T>
T product_rounding(const Quantities<T>& q) {
  return q.power * (exp(power_log(q)) * (q.mean_magnitude + total_rounding(q)) - q.mean_magnitude);
}

template <class T>
T product_lost(const Quantities<T>& q) {
  return ((q.power * exp(power_log(q)) * total_loss(q) + q.exp_floor * exp(unit(q)) * ((q.mean_magnitude + total_rounding(q)) + total_loss(q))) + q.product_floor);
}

template <class T>
T log_gradient_first(const Quantities<T>& q) {
  return ((exp(q.reading_unit) - T(1)) * q.upstream + product_rounding(q));
}

template <class T>
T log_gradient_second(const Quantities<T>& q) {
  return (log_gradient_first(q) + q.roundoff * (q.gradient_magnitude + log_gradient_first(q)));
}

template <class T>
T log_gradient_loss(const Quantities<T>& q) {
  return ((q.reading_loss + product_lost(q)) * (T(1) + q.roundoff) + q.sum_floor);
}

template <class T>
T log_softmax_gradient(const Quantities<T>& q) {
  return ((log_gradient_second(q) + q.output_roundoff * (q.gradient_magnitude + log_gradient_second(q))) + (log_gradient_loss(q) * (T(1) + q.output_roundoff) + q.output_floor));
}

}  // namespace softcheck::theorems::gradients

