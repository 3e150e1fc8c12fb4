// B18: the k largest coefficients of a softmax. Proofs: docs/tolerances/topk.md.

#include "numerics/rounding/rounding_topk.hpp"

#include "numerics/formats/fp_environment.hpp"

namespace softcheck::numerics {

template <class T>
TopkThreshold<T>::TopkThreshold(const Contract& contract, const RowStatistics<T>& row, Grants grants, bool divided)
    : model_(contract, row, grants), bounds_(model_.element_bounds()), log_sum_(row.log_sum) {
  const FpEnvironmentGuard guard;
  weights_ = model_.element(bounds_.element_log, model_.slope, bounds_.element_floor);
  // Stored and rescaled numerators have at most R rescalings, each item its own.
  own_ = bounds_.numerator_log + model_.rescale_unit + bounds_.ratio_log;
  if (divided) own_ = own_ + bounds_.ratio_log;
  if (divided) bounds_.element_floor = 2 * bounds_.element_floor;
  magnified_ = exp(bounds_.element_log);
}

template <class T>
T TopkThreshold<T>::exchange(const T& higher, const T& lower) const {
  const FpEnvironmentGuard guard;
  const T own = own_ + model_.slope * higher;
  const T lost = 2 * bounds_.element_floor * magnified_ * exp(log_sum_ + higher + own);
  return own + own_ + model_.slope * lower + minus_log1m(lost);
}

template <class T>
ElementThreshold<T> TopkThreshold<T>::renormalised(const ChosenItems<T>& chosen) const {
  const FpEnvironmentGuard guard;
  const T k(static_cast<double>(chosen.count)), steps(static_cast<double>(chosen.additions.value_or(chosen.count - 1)));
  const T& t = model_.slope;
  // (3) of docs/tolerances.md for the chosen items only.
  const T second = formulas::square(log(k + exp(T(1))) * over_one_minus(t));
  const T shift = t * chosen.mean_deviation + formulas::square(t) * T(0.5) * second;
  const T constant = own_ + t * chosen.top_deviation;
  const T direct = steps * model_.unit + constant + shift;
  // 1 over the sum of the chosen coefficients is at most that over the largest of them.
  const T over_chosen = magnified_ * (chosen.over_mass ? *chosen.over_mass : exp(log_sum_ + chosen.top_deviation));
  const T lost = k * (bounds_.element_floor + model_.sum_floor) * over_chosen;
  const T sum = direct + minus_log1m(lost * exp(2 * direct));
  const T log = constant + sum + bounds_.ratio_log;
  const T floor =
      (bounds_.element_floor * over_chosen + model_.quantities.lost_quotients * model_.product_floor) * exp(log) +
      model_.output_floor;
  return model_.element(log, t, floor);
}

RouterThreshold::RouterThreshold(const Contract& contract) : model_(contract) {
  const Format bias = contract.input == Format::f64 ? Format::f64 : Format::f32;
  if (!embeds(bias, contract.accumulator)) bias_unit_ = model_.unit;
}

UpperBound RouterThreshold::score(const UpperBound& error, const UpperBound& bias, const UpperBound& score) const {
  const FpEnvironmentGuard guard;
  const UpperBound moved = error + bias * expm1(bias_unit_) + model_.sum_floor;
  return moved + (score + moved) * expm1(model_.unit);
}

UpperBound RouterThreshold::pair(const UpperBound& sum) const {
  const FpEnvironmentGuard guard;
  return sum * expm1(model_.unit) + model_.sum_floor;
}

RouterError RouterThreshold::share(const UpperBound& p, const ScalarThreshold<UpperBound>& error, std::uint64_t k,
                                   const ScalarThreshold<UpperBound>& errors, const UpperBound& over_chosen) const {
  const FpEnvironmentGuard guard;
  const UpperBound additions(static_cast<double>(k - 1));
  // 1 / P_hat must be a number, and is multiplied.
  if (!(over_chosen.value() * 4 <= model_.largest)) return {UpperBound::infinity(), UpperBound::infinity()};
  const auto with = [&](const UpperBound& own, const UpperBound& lost) {
    const UpperBound log = minus_log1m(lost * over_chosen) + (additions + UpperBound(2)) * model_.unit;
    return (own + (p + own) * expm1(log)) * over_chosen;
  };
  const UpperBound rounding = with(error.rounding, errors.rounding);
  const UpperBound lost = errors.total() + additions * model_.sum_floor;
  return {rounding, with(error.total(), lost) + UpperBound(2) * model_.product_floor * exp(log(over_chosen))};
}

UpperBound RouterThreshold::stored(const UpperBound& weight, const UpperBound& error, const UpperBound& factor) const {
  const FpEnvironmentGuard guard;
  const bool is_scaled = factor.value() != 1;
  const UpperBound log = (is_scaled ? UpperBound(2) * model_.unit : UpperBound()) + model_.output_unit;
  return factor * (error + (weight + error) * expm1(log)) + (is_scaled ? model_.product_floor : UpperBound()) +
         model_.output_floor;
}

template class TopkThreshold<UpperBound>;
template class TopkThreshold<Enclosure>;

}  // namespace softcheck::numerics
