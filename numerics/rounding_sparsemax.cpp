// B20: sparsemax. Proofs: docs/tolerances/sparsemax.md.

#include "numerics/rounding_sparsemax.hpp"

#include <algorithm>

#include "numerics/fp_environment.hpp"

namespace softcheck::numerics {

template <class T>
SparsemaxThreshold<T>::SparsemaxThreshold(const Contract& contract, const SparsemaxRow<T>& row)
    : model_(contract), top_(row.top), height_(2 * summation_height(contract, row.size)), visible_(row.visible) {
  const FpEnvironmentGuard guard;
  // Two logits are read; the largest coefficient is at most 1, and so are the deviations of a support.
  const bool read = !embeds(contract.input, contract.accumulator);
  conversion_ = read ? 2 * model_.roundoff * (row.maximum_magnitude + T(2)) : T(0);
  floors_ = 2 * model_.sum_floor + 2 * model_.product_floor;
}

template <class T>
T SparsemaxThreshold<T>::additions(std::uint64_t count) const {
  return T(static_cast<double>(std::min(height_, count - 1)));
}

template <class T>
T SparsemaxThreshold<T>::inside() const {
  const FpEnvironmentGuard guard;
  const T relative = 2 * expm1(3 * model_.unit) + expm1((additions(visible_) + T(2)) * model_.unit);
  return 2 * relative * top_ + 4 * (conversion_ + floors_);
}

template <class T>
T SparsemaxThreshold<T>::condition(const T& count, const T& deviation, const T& sum) const {
  const FpEnvironmentGuard guard;
  const T own = expm1(3 * model_.unit) * (T(1) + count * deviation + sum);
  return own + expm1((additions(visible_) + T(2)) * model_.unit) * sum + 2 * count * (conversion_ + floors_);
}

template <class T>
T SparsemaxThreshold<T>::element(const T& deviation, const T& value, const SparsemaxSupport<T>& support) const {
  const FpEnvironmentGuard guard;
  const T& unit = model_.unit;
  const T quotient = expm1(3 * unit) * (top_ + support.moved) +
                     exp(3 * unit) * (expm1((additions(support.most) + T(1)) * unit) * support.mean_deviation);
  const T before = expm1(2 * unit) * deviation + quotient + support.moved + 2 * (conversion_ + floors_);
  const T error = expm1(unit) * value + exp(unit) * before;
  return error + model_.output_roundoff * (value + error) + model_.output_floor;
}

template class SparsemaxThreshold<UpperBound>;
template class SparsemaxThreshold<Enclosure>;

}  // namespace softcheck::numerics
