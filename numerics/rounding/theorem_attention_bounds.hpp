// Generated from theory/proofs by proptests/tests/proofs/formulas.sh: the right-hand sides of the theorems about
// attention, as Coq prints them. Not to be edited.
// clang-format off
#pragma once

/// B9. What the formulas speak of: theory/proofs/numerics/attention_formulas.v.
namespace softcheck::numerics::formulas::attention {

template <class T>
T square(const T& x) {
  return x * x;
}

namespace whole {

/// One score, whose scale is one factor: theory/proofs/numerics/score_formulas.v.
template <class T>
struct Quantities {
  T roundoff{};
  T dimension{};
  T readings{};
  T scale_magnitude{};
  T products_scale{};
  T dot_magnitude{};
  T factor_sum{};
  T product_floor{};
  T sum_floor{};
};

template <class T>
struct WholeScoreBounds {
  WholeScoreBounds() = default;
  explicit WholeScoreBounds(const Quantities<T>& q)
      : score_log(((q.dimension + T(2)) + q.readings) * minus_log1m(q.roundoff)),
        lost_factors(q.product_floor * q.factor_sum),
        lost_products(q.products_scale * q.dimension * (q.product_floor + q.sum_floor)),
        whole_score(((q.scale_magnitude * expm1(score_log) * q.dot_magnitude + exp(score_log) * (lost_factors + lost_products)) + q.product_floor)) {}
  T score_log, lost_factors, lost_products, whole_score;
};

}  // namespace whole

namespace split {

/// A score whose scale is split, and one that is stored: theory/proofs/numerics/split_score_formulas.v.
template <class T>
struct Quantities {
  T roundoff{};
  T dimension{};
  T readings{};
  T narrowed_unit{};
  T factor_unit{};
  T stored_floor{};
  T root{};
  T scale_magnitude{};
  T dot_magnitude{};
  T factor_sum{};
  T product_floor{};
  T sum_floor{};
  T score_magnitude{};
  T score_error{};
  T score_unit{};
  T score_floor{};
};

template <class T>
struct SplitScoreBounds {
  SplitScoreBounds() = default;
  explicit SplitScoreBounds(const Quantities<T>& q)
      : split_log(((((q.dimension + T(4)) + q.readings) * minus_log1m(q.roundoff) + T(2) * q.narrowed_unit) + T(2) * q.factor_unit)),
        factor_floor((q.product_floor + q.stored_floor)),
        lost_factors(factor_floor * (q.root * q.factor_sum + q.dimension * factor_floor)),
        split_score((expm1(split_log) * q.scale_magnitude * q.dot_magnitude + exp(split_log) * (lost_factors + q.dimension * (q.product_floor + q.sum_floor)))) {}
  T split_log, factor_floor, lost_factors, split_score;
};

}  // namespace split

namespace split {

template <class T>
struct StoredScoreBounds {
  StoredScoreBounds() = default;
  explicit StoredScoreBounds(const Quantities<T>& q)
      : stored_score(((q.score_error + expm1(q.score_unit) * (q.score_magnitude + q.score_error)) + q.score_floor)) {}
  T stored_score;
};

}  // namespace split

namespace scores {

/// The exact scores and their errors: the row as computed.
template <class T>
struct Quantities {
  T log_sum{};
  T mean_deviation{};
  T mean_square_deviation{};
  T maximum_magnitude{};
  T logsumexp_magnitude{};
  T largest_error{};
  T mean_error{};
  T mean_error_deviation{};
};

template <class T>
struct ScoreBounds {
  ScoreBounds() = default;
  explicit ScoreBounds(const Quantities<T>& q)
      : moved_growth(exp(T(2) * q.largest_error)),
        moved_log_sum((q.log_sum + T(2) * q.largest_error)),
        moved_mean(moved_growth * (q.mean_deviation + T(2) * q.largest_error)),
        moved_square(moved_growth * ((q.mean_square_deviation + T(4) * q.largest_error * q.mean_deviation) + T(4) * square(q.largest_error))),
        moved_maximum((q.maximum_magnitude + q.largest_error)),
        moved_logsumexp((q.logsumexp_magnitude + q.largest_error)),
        logsumexp_move(q.mean_error * exp(q.largest_error)),
        entropy_move(moved_growth * (q.mean_error_deviation + q.mean_error * (T(2) * q.largest_error + moved_mean))) {}
  T moved_growth, moved_log_sum, moved_mean, moved_square, moved_maximum, moved_logsumexp, logsumexp_move, entropy_move;
};

}  // namespace scores

namespace queries {

/// What all keys of a query share.
template <class T>
struct Quantities {
  T sum_log{};
  T exp_unit{};
  T unit{};
  T rescale_unit{};
  T argument_floor{};
  T slope{};
  T quotient{};
  T tilt{};
  T wider_mean{};
  T mean_score_error{};
  T largest_score_error{};
  T values_height{};
  T rescalings{};
  T weight_unit{};
  T reading_unit{};
  T sums_unit{};
  T exp_floor{};
  T weight_floor{};
  T quotient_floor{};
  T product_floor{};
  T sum_floor{};
  T sums_floor{};
  T quantum_share{};
  bool rescaled = false;
};

template <class T>
struct QueryBounds {
  QueryBounds() = default;
  explicit QueryBounds(const Quantities<T>& q)
      : rate((q.slope * (T(1) + q.tilt) + q.tilt)),
        denominator((q.mean_score_error * exp(q.largest_score_error) + q.tilt * q.wider_mean)),
        common_log((q.sum_log + denominator)),
        common_excess(expm1(common_log)),
        common_growth(exp(common_log)),
        own_log(((((((((q.exp_unit + q.rescale_unit) + q.argument_floor) + T(2) * rate * q.largest_score_error) + (q.values_height + T(1)) * q.unit) + q.quotient) + q.weight_unit) + q.reading_unit) + ((q.values_height + q.rescalings) + T(3)) * q.sums_unit)),
        widest_log((own_log + q.largest_score_error)),
        widest_growth(exp(widest_log)),
        lost_weight((widest_growth * (((q.exp_floor + q.weight_floor) + (q.rescaled ? T(2) * q.exp_floor : T(0))) + q.quotient_floor) + q.quantum_share)),
        lost_addend(widest_growth * (((q.product_floor + q.sum_floor) + (q.rescaled ? T(2) * q.product_floor : T(0))) + (T(4) + q.rescalings) * q.sums_floor)),
        quotient_loss((q.product_floor * exp(q.sums_unit) + q.sums_floor)) {}
  T rate, denominator, common_log, common_excess, common_growth, own_log, widest_log, widest_growth, lost_weight, lost_addend, quotient_loss;
};

}  // namespace queries

namespace keys {

/// One key.
template <class T>
struct Quantities {
  T own_log{};
  T score_error{};
  T chord_slope{};
  T deviation{};
  T coefficient{};
};

template <class T>
struct KeyBounds {
  KeyBounds() = default;
  explicit KeyBounds(const Quantities<T>& q)
      : key_error((expm1((q.own_log + q.score_error)) + q.chord_slope * q.deviation) * q.coefficient) {}
  T key_error;
};

}  // namespace keys

namespace columns {

/// One column of values.
template <class T>
struct Quantities {
  T common_excess{};
  T common_growth{};
  T lost_weight{};
  T lost_addend{};
  T addends{};
  T output{};
  T terms{};
  T magnitude{};
  T quotient_loss{};
  T output_roundoff{};
  T output_floor{};
};

template <class T>
struct ColumnBounds {
  ColumnBounds() = default;
  explicit ColumnBounds(const Quantities<T>& q)
      : column_rounding((q.common_excess * q.output + q.common_growth * q.terms)),
        column_output((column_rounding + q.output_roundoff * (q.output + column_rounding))),
        column_lost(((q.common_growth * (q.magnitude * q.lost_weight + q.addends * q.lost_addend) + q.quotient_loss) * (T(1) + q.output_roundoff) + q.output_floor)) {}
  T column_rounding, column_output, column_lost;
};

}  // namespace columns

}  // namespace softcheck::numerics::formulas::attention
