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

}  // namespace softcheck::numerics::formulas::projection
