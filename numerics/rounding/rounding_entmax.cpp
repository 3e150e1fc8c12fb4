// B21: entmax of alpha = 1.5. Proofs: theory/proofs/numerics/b21_*.v, docs/tolerances/entmax.md.

#include "numerics/rounding/rounding_entmax.hpp"

#include <algorithm>

#include "numerics/formats/fp_environment.hpp"

namespace softcheck::numerics {

namespace roots = formulas::projection::roots;

template <class T>
EntmaxThreshold<T>::EntmaxThreshold(const Contract& contract, std::uint64_t size, std::uint64_t visible,
                                    const T& maximum_magnitude)
    : height_(2 * summation_height(contract, size)), visible_(visible) {
  const FpEnvironmentGuard guard;
  const OperationModel<T> model(contract);
  quantities_.roundoff = model.roundoff;
  quantities_.sum_floor = model.sum_floor;
  quantities_.product_floor = model.product_floor;
  quantities_.read_roundoff = embeds(contract.input, contract.accumulator) ? T(0) : model.roundoff;
  quantities_.read_loss = model.reading_floor;
  quantities_.output_roundoff = model.output_roundoff;
  quantities_.output_floor = model.output_floor;
  quantities_.maximum_magnitude = maximum_magnitude;
  half_ = roots::HalfDeviationBounds<T>(quantities_);
  largest_ = model.largest;
}

template <class T>
T EntmaxThreshold<T>::additions(std::uint64_t count) const {
  return T(static_cast<double>(std::min(height_, count - 1)));
}

template <class T>
T EntmaxThreshold<T>::half_deviation(const T& exact) const {
  const FpEnvironmentGuard guard;
  roots::Quantities<T> q = quantities_;
  q.half_deviation = exact;
  return roots::OwnBounds<T>(q, half_).own_error;
}

template <class T>
T EntmaxThreshold<T>::root(const EntmaxPrefix<T>& prefix) const {
  const FpEnvironmentGuard guard;
  if (static_cast<double>(prefix.count) > largest_) return unbounded<T>();  // k is not a number of the accumulator
  roots::Quantities<T> q = quantities_;
  q.height = additions(prefix.count);
  q.mean = prefix.mean;
  q.mean_square = prefix.mean_square;
  q.width = prefix.width;
  const T radicand = roots::RadicandBounds<T>(q, half_).radicand_error;
  // sqrt_error: sqrt(a + e) and sqrt(a - e) differ from sqrt(a) by at most e / sqrt(a) and at most sqrt(e).
  q.shift = minimum(radicand * prefix.inverse_spread, sqrt(radicand));
  q.spread = prefix.spread;
  q.root = prefix.root;
  return roots::RootBounds<T>(q, half_).root_error;
}

template <class T>
T EntmaxThreshold<T>::root_within(const EntmaxPrefix<T>& support) const {
  // Means increase with the number of items, spreads decrease; 1 / k and a variance are at most 1.
  EntmaxPrefix<T> any = support;
  any.count = visible_;
  any.width = T(2);
  any.spread = any.root = T(1);
  return root(any);
}

template <class T>
T EntmaxThreshold<T>::difference(const T& half_deviation, const T& difference, const T& top) const {
  const FpEnvironmentGuard guard;
  roots::Quantities<T> q = quantities_;
  q.half_deviation = half_deviation;
  q.difference = difference;
  q.top_error = top;
  return roots::DifferenceBounds<T>(q, half_).difference_error;
}

template <class T>
T EntmaxThreshold<T>::coefficient(const T& difference, const T& error) const {
  const FpEnvironmentGuard guard;
  roots::Quantities<T> q = quantities_;
  q.difference = difference;
  q.error = error;
  return roots::CoefficientBounds<T>(q, half_).stored_coefficient;
}

template class EntmaxThreshold<UpperBound>;
template class EntmaxThreshold<Enclosure>;

}  // namespace softcheck::numerics
