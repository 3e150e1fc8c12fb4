// B19: the items that top-p and min-p keep of a softmax. Proofs: docs/tolerances/top_p.md.

#include "numerics/rounding/rounding_top_p.hpp"

#include <algorithm>

#include "numerics/formats/fp_environment.hpp"

namespace softcheck::numerics {

template <class T>
TopPThreshold<T>::TopPThreshold(const Contract& contract, const RowStatistics<T>& row, Grants grants, bool divided)
    : model_(contract, row, grants),
      bounds_(model_.element_bounds()),
      choice_(contract, row, grants, divided),
      height_(2 * summation_height(contract, row.size)) {
  const FpEnvironmentGuard guard;
  own_ = bounds_.numerator_log + model_.rescale_unit + bounds_.ratio_log;
  if (divided) own_ = own_ + bounds_.ratio_log;
  if (divided) bounds_.element_floor = 2 * bounds_.element_floor;
  const T floors = 2 * bounds_.element_floor + model_.product_floor;
  lost_ = floors * exp(bounds_.element_log + row.log_sum);
  const std::uint64_t additions = std::min<std::uint64_t>(height_, row.visible - 1);
  // The sum's error, the items' own, the additions, and two roundings of the compared numbers.
  mass_log_ = model_.sum_log + own_ + model_.shift + (T(static_cast<double>(additions)) + T(2)) * model_.unit;
  if (divided) mass_log_ = 2 * mass_log_;
}

template <class T>
T TopPThreshold<T>::mass(const T& last, const T& whole) const {
  const FpEnvironmentGuard guard;
  const T floors = (model_.visible + T(1)) * (bounds_.element_floor + model_.sum_floor) * exp(mass_log_);
  return expm1(mass_log_) * (whole + last) + floors;
}

template <class T>
T TopPThreshold<T>::level(const T& deviation, const T& level, const T& nearer) const {
  const FpEnvironmentGuard guard;
  const T reading = 2 * model_.unit, near = own_ + model_.slope * nearer + reading;
  const T logarithm = model_.log_roundoff * (level + model_.unit);
  return own_ + own_ + model_.slope * deviation + reading + logarithm + minus_log1m(lost_ * exp(nearer + near));
}

template <class T>
ElementThreshold<T> TopPThreshold<T>::kept(std::uint64_t count, const T& top_deviation, const T& mean_deviation,
                                           const T& over_mass) const {
  const std::uint64_t additions = std::min<std::uint64_t>(height_, count - 1);
  return choice_.renormalised({count, top_deviation, mean_deviation, additions, over_mass});
}

template class TopPThreshold<UpperBound>;
template class TopPThreshold<Enclosure>;

}  // namespace softcheck::numerics
