#include "numerics/rounding/rounding_projections.hpp"

#include <algorithm>

#include "numerics/formats/fp_environment.hpp"

namespace softcheck::numerics {
namespace roots = formulas::projection::roots;

namespace {

template <class Quantities, class T>
Quantities of_contract(const Contract& contract, const OperationModel<T>& model) {
  Quantities quantities;
  quantities.roundoff = model.roundoff;
  quantities.sum_floor = model.sum_floor;
  quantities.product_floor = model.product_floor;
  quantities.read_roundoff = embeds(contract.input, contract.accumulator) ? T(0) : model.roundoff;
  quantities.read_loss = model.reading_floor;
  quantities.output_roundoff = model.output_roundoff;
  quantities.output_floor = model.output_floor;
  return quantities;
}

}  // namespace

template <class T>
SparsemaxThreshold<T>::SparsemaxThreshold(const Contract& contract, const SparsemaxRow<T>& row)
    : height_(2 * summation_height(contract, row.size)), visible_(row.visible) {
  const FpEnvironmentGuard guard;
  const OperationModel<T> model(contract);
  quantities_ = of_contract<formulas::projection::Quantities<T>>(contract, model);
  quantities_.maximum_magnitude = row.maximum_magnitude;
  quantities_.top = row.top;
  quantities_.height = additions(visible_);
  deviation_ = formulas::projection::DeviationBounds<T>(quantities_);
}

template <class T>
T SparsemaxThreshold<T>::additions(std::uint64_t count) const {
  return T(static_cast<double>(std::min(height_, count - 1)));
}

template <class T>
T SparsemaxThreshold<T>::inside() const {
  const FpEnvironmentGuard guard;
  return formulas::projection::SupportBounds<T>(quantities_, deviation_).inside;
}

template <class T>
T SparsemaxThreshold<T>::condition(std::uint64_t count, const T& deviation, const T& sum) const {
  const FpEnvironmentGuard guard;
  formulas::projection::Quantities<T> q = quantities_;
  q.height = additions(count);
  q.count = T(static_cast<double>(count));
  q.deviation = deviation;
  q.total = sum;
  return formulas::projection::SupportBounds<T>(q, deviation_).condition;
}

template <class T>
T SparsemaxThreshold<T>::element(const T& deviation, const T& value, const SparsemaxSupport<T>& support) const {
  const FpEnvironmentGuard guard;
  formulas::projection::Quantities<T> q = quantities_;
  q.height = additions(support.most);
  q.deviation = deviation;
  q.value = value;
  q.moved = support.moved;
  q.mean_deviation = support.mean_deviation;
  return formulas::projection::ElementBounds<T>(q, deviation_).stored_element;
}

template <class T>
RootProjectionThreshold<T>::RootProjectionThreshold(const Contract& contract, std::uint64_t size, std::uint64_t visible,
                                                    const T& maximum_magnitude)
    : height_(2 * summation_height(contract, size)), visible_(visible) {
  const FpEnvironmentGuard guard;
  const OperationModel<T> model(contract);
  quantities_ = of_contract<roots::Quantities<T>>(contract, model);
  quantities_.maximum_magnitude = maximum_magnitude;
  half_ = roots::HalfDeviationBounds<T>(quantities_);
  largest_ = model.largest;
}

template <class T>
T RootProjectionThreshold<T>::additions(std::uint64_t count) const {
  return T(static_cast<double>(std::min(height_, count - 1)));
}

template <class T>
T RootProjectionThreshold<T>::half_deviation(const T& exact) const {
  const FpEnvironmentGuard guard;
  roots::Quantities<T> q = quantities_;
  q.half_deviation = exact;
  return roots::OwnBounds<T>(q, half_).own_error;
}

template <class T>
T RootProjectionThreshold<T>::root(const RootPrefix<T>& prefix) const {
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
T RootProjectionThreshold<T>::root_within(const RootPrefix<T>& support) const {
  // Means increase with the number of items, spreads decrease; 1 / k and a variance are at most 1.
  RootPrefix<T> any = support;
  any.count = visible_;
  any.width = T(2);
  any.spread = any.root = T(1);
  return root(any);
}

template <class T>
T RootProjectionThreshold<T>::difference(const T& half_deviation, const T& difference, const T& top) const {
  const FpEnvironmentGuard guard;
  roots::Quantities<T> q = quantities_;
  q.half_deviation = half_deviation;
  q.difference = difference;
  q.top_error = top;
  return roots::DifferenceBounds<T>(q, half_).difference_error;
}

template <class T>
T RootProjectionThreshold<T>::coefficient(const T& difference, const T& error) const {
  const FpEnvironmentGuard guard;
  roots::Quantities<T> q = quantities_;
  q.difference = difference;
  q.error = error;
  return roots::CoefficientBounds<T>(q, half_).stored_coefficient;
}

template class SparsemaxThreshold<UpperBound>;
template class SparsemaxThreshold<Enclosure>;
template class RootProjectionThreshold<UpperBound>;
template class RootProjectionThreshold<Enclosure>;

}  // namespace softcheck::numerics
