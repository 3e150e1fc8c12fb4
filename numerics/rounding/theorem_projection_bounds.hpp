// Generated from theory/proofs by proptests/tests/proofs/formulas.sh: the right-hand sides of the theorems about
// projections, as Coq prints them. Not to be edited.
// clang-format off
#pragma once

namespace softcheck::numerics::formulas::projection {

/// What the formulas speak of: theory/proofs/numerics/projection_formulas.v.
template <class T>
struct Quantities {
  T roundoff{};
  T sum_floor{};
  T product_floor{};
  T read_roundoff{};
  T read_loss{};
  T output_roundoff{};
  T output_floor{};
  T maximum_magnitude{};
  T height{};
  T count{};
  T deviation{};
  T total{};
  T value{};
  T top{};
  T moved{};
  T mean_deviation{};
};

/// A deviation, as it is read and subtracted.
template <class T>
struct DeviationBounds {
  DeviationBounds() = default;
  explicit DeviationBounds(const Quantities<T>& q)
      : unit(minus_log1m(q.roundoff)),
        deviation_log((unit + minus_log1m(q.read_roundoff))),
        deviation_loss((exp(unit) * (T(2) * q.read_roundoff * q.maximum_magnitude + T(2) * q.read_loss) + q.sum_floor)) {}
  T unit, deviation_log, deviation_loss;
};

/// B20: which items belong to the support.
template <class T>
struct SupportBounds {
  SupportBounds() = default;
  SupportBounds(const Quantities<T>& q, const DeviationBounds<T>& before)
      : compared_log((before.deviation_log + T(2) * before.unit)),
        summed_log((before.deviation_log + (q.height + T(1)) * before.unit)),
        item_loss(exp((q.height + T(2)) * before.unit) * ((T(2) * before.deviation_loss + q.sum_floor) + q.product_floor)),
        condition(((expm1(compared_log) * ((T(1) + q.count * q.deviation) + q.total) + expm1(summed_log) * q.total) + q.count * item_loss)),
        inside(((T(2) * expm1(compared_log) + expm1(summed_log)) * q.top + item_loss)) {}
  T compared_log, summed_log, item_loss, condition, inside;
};

/// B20: a coefficient.
template <class T>
struct ElementBounds {
  ElementBounds() = default;
  ElementBounds(const Quantities<T>& q, const DeviationBounds<T>& before)
      : quotient_error((((expm1(T(3) * before.unit) * (q.top + q.moved) + exp(T(3) * before.unit) * expm1((before.deviation_log + q.height * before.unit)) * q.mean_deviation) + exp((q.height + T(3)) * before.unit) * (before.deviation_loss + q.sum_floor)) + q.product_floor)),
        element(((expm1(before.unit) * q.value + exp(before.unit) * (((expm1(before.deviation_log) * q.deviation + before.deviation_loss) + quotient_error) + q.moved)) + q.sum_floor)),
        stored_element(((element + q.output_roundoff * (q.value + element)) + q.output_floor)) {}
  T quotient_error, element, stored_element;
};

namespace roots {

/// What the formulas of B21 speak of: theory/proofs/numerics/root_formulas.v.
template <class T>
struct Quantities {
  T roundoff{};
  T sum_floor{};
  T product_floor{};
  T read_roundoff{};
  T read_loss{};
  T output_roundoff{};
  T output_floor{};
  T maximum_magnitude{};
  T height{};
  T half_deviation{};
  T mean{};
  T mean_square{};
  T width{};
  T spread{};
  T shift{};
  T root{};
  T difference{};
  T top_error{};
  T error{};
};

template <class T>
T square(const T& x) {
  return x * x;
}

/// Half of a deviation.
template <class T>
struct HalfDeviationBounds {
  HalfDeviationBounds() = default;
  explicit HalfDeviationBounds(const Quantities<T>& q)
      : unit(minus_log1m(q.roundoff)),
        deviation_log((unit + minus_log1m(q.read_roundoff))),
        half_loss((exp(unit) * ((T(2) * q.read_roundoff * q.maximum_magnitude + T(2) * q.read_loss) * T(0.5) + T(2) * q.product_floor) + q.sum_floor)) {}
  T unit, deviation_log, half_loss;
};

template <class T>
struct OwnBounds {
  OwnBounds() = default;
  OwnBounds(const Quantities<T>& q, const HalfDeviationBounds<T>& before)
      : own_error((expm1(before.deviation_log) * q.half_deviation + before.half_loss)) {}
  T own_error;
};

/// B21: the radicand of a prefix, and its root; between the two is a square root.
template <class T>
struct RadicandBounds {
  RadicandBounds() = default;
  RadicandBounds(const Quantities<T>& q, const HalfDeviationBounds<T>& before)
      : mean_error(((expm1((before.deviation_log + (q.height + T(3)) * before.unit)) * q.mean + exp((q.height + T(3)) * before.unit) * (before.half_loss + q.sum_floor)) + q.product_floor)),
        square_error(((expm1((T(2) * before.deviation_log + (q.height + T(4)) * before.unit)) * q.mean_square + exp((q.height + T(4)) * before.unit) * (((T(2) * exp(before.deviation_log) * before.half_loss * q.mean + square(before.half_loss)) + q.sum_floor) + q.product_floor)) + q.product_floor)),
        radicand_error((expm1(T(6) * before.unit) * (q.width + q.mean_square) + exp(T(6) * before.unit) * (((square_error + mean_error * (T(2) * q.mean + mean_error)) + T(2) * q.sum_floor) + T(3) * q.product_floor))) {}
  T mean_error, square_error, radicand_error;
};

template <class T>
struct RootBounds {
  RootBounds() = default;
  RootBounds(const Quantities<T>& q, const HalfDeviationBounds<T>& before)
      : mean_error(((expm1((before.deviation_log + (q.height + T(3)) * before.unit)) * q.mean + exp((q.height + T(3)) * before.unit) * (before.half_loss + q.sum_floor)) + q.product_floor)),
        root_error(((expm1(before.unit) * q.root + exp(before.unit) * (((mean_error + expm1(T(2) * before.unit) * q.spread) + exp(T(2) * before.unit) * q.shift) + q.product_floor)) + q.sum_floor)) {}
  T mean_error, root_error;
};

/// B21: the root of a coefficient, and its square.
template <class T>
struct DifferenceBounds {
  DifferenceBounds() = default;
  DifferenceBounds(const Quantities<T>& q, const HalfDeviationBounds<T>& before)
      : own_error((expm1(before.deviation_log) * q.half_deviation + before.half_loss)),
        difference_error(((expm1(before.unit) * q.difference + exp(before.unit) * (own_error + q.top_error)) + q.sum_floor)) {}
  T own_error, difference_error;
};

template <class T>
struct CoefficientBounds {
  CoefficientBounds() = default;
  CoefficientBounds(const Quantities<T>& q, const HalfDeviationBounds<T>& before)
      : square_coefficient(((expm1(before.unit) * q.difference * q.difference + exp(before.unit) * q.error * (T(2) * q.difference + q.error)) + q.product_floor)),
        stored_coefficient(((square_coefficient + q.output_roundoff * (q.difference * q.difference + square_coefficient)) + q.output_floor)) {}
  T square_coefficient, stored_coefficient;
};

}  // namespace roots

}  // namespace softcheck::numerics::formulas::projection
