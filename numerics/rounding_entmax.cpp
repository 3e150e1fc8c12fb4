// B21: entmax of alpha = 1.5. Proofs: docs/tolerances/entmax.md.

#include "numerics/rounding_entmax.hpp"

#include <algorithm>

#include "numerics/fp_environment.hpp"

namespace softcheck::numerics {

template <class T>
EntmaxThreshold<T>::EntmaxThreshold(const Contract& contract, std::uint64_t size, std::uint64_t visible,
                                    const T& maximum_magnitude)
    : model_(contract), height_(2 * summation_height(contract, size)), visible_(visible) {
  const FpEnvironmentGuard guard;
  // Half of two logits that are read: the other one is larger by 2 d, which the error relative to d holds.
  const bool read = !embeds(contract.input, contract.accumulator);
  floors_ = 2 * model_.sum_floor + 2 * model_.product_floor;
  absolute_ = (read ? model_.roundoff * (maximum_magnitude + T(2)) : T(0)) + model_.reading_floor + floors_;
}

template <class T>
T EntmaxThreshold<T>::additions(std::uint64_t count) const {
  return T(static_cast<double>(std::min(height_, count - 1)));
}

template <class T>
T EntmaxThreshold<T>::half_deviation(const T& exact) const {
  const FpEnvironmentGuard guard;
  return expm1(2 * model_.unit) * exact + absolute_;
}

template <class T>
T EntmaxThreshold<T>::root(const EntmaxPrefix<T>& prefix) const {
  const FpEnvironmentGuard guard;
  if (static_cast<double>(prefix.count) > model_.largest) return unbounded<T>();  // k is no number of the accumulator
  const T& unit = model_.unit;
  const T in_mean = (additions(prefix.count) + T(4)) * unit, twice = 2 * in_mean + 2 * unit;
  const T mean = expm1(in_mean) * prefix.mean + exp(in_mean) * absolute_ + floors_;
  const T squares = expm1((additions(prefix.count) + T(7)) * unit) * prefix.mean_square +
                    expm1(twice) * prefix.mean * prefix.mean +
                    exp(twice) * (2 * absolute_ * (2 * prefix.mean + absolute_) + 3 * floors_);
  const T radicand = expm1(6 * unit) * (prefix.width + prefix.mean_square) + exp(6 * unit) * squares;
  // sqrt(a + e) and sqrt(a - e) are at most e / sqrt(a) and at most sqrt(e) from sqrt(a).
  const T spread = minimum(radicand * prefix.inverse_spread, sqrt(radicand));
  const T before = mean + expm1(2 * unit) * prefix.spread + exp(2 * unit) * spread;
  return expm1(unit) * prefix.root + exp(unit) * before + floors_;
}

template <class T>
T EntmaxThreshold<T>::root_within(const EntmaxPrefix<T>& support) const {
  // Means grow with the number of items, spreads fall; 1 / k and a variance are at most 1.
  EntmaxPrefix<T> any = support;
  any.count = visible_;
  any.width = T(2);
  any.spread = any.root = T(1);
  return root(any);
}

template <class T>
T EntmaxThreshold<T>::difference(const T& half_deviation, const T& difference, const T& top) const {
  const FpEnvironmentGuard guard;
  const T before = this->half_deviation(half_deviation) + top;
  return expm1(model_.unit) * difference + exp(model_.unit) * before + floors_;
}

template <class T>
T EntmaxThreshold<T>::coefficient(const T& difference, const T& error) const {
  const FpEnvironmentGuard guard;
  const T square = difference * difference;
  const T off = expm1(model_.unit) * square + exp(model_.unit) * (error * (2 * difference + error)) + floors_;
  return off + model_.output_roundoff * (square + off) + model_.output_floor;
}

template class EntmaxThreshold<UpperBound>;
template class EntmaxThreshold<Enclosure>;

}  // namespace softcheck::numerics
