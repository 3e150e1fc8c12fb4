// B20: sparsemax. Proofs: theory/proofs/numerics/b20_sparsemax.v, docs/tolerances/sparsemax.md.

#include "numerics/rounding/rounding_sparsemax.hpp"

#include <algorithm>

#include "numerics/formats/fp_environment.hpp"

namespace softcheck::numerics {

template <class T>
SparsemaxThreshold<T>::SparsemaxThreshold(const Contract& contract, const SparsemaxRow<T>& row)
    : height_(2 * summation_height(contract, row.size)), visible_(row.visible) {
  const FpEnvironmentGuard guard;
  const OperationModel<T> model(contract);
  quantities_.roundoff = model.roundoff;
  quantities_.sum_floor = model.sum_floor;
  quantities_.product_floor = model.product_floor;
  quantities_.read_roundoff = embeds(contract.input, contract.accumulator) ? T(0) : model.roundoff;
  quantities_.read_loss = model.reading_floor;
  quantities_.output_roundoff = model.output_roundoff;
  quantities_.output_floor = model.output_floor;
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

template class SparsemaxThreshold<UpperBound>;
template class SparsemaxThreshold<Enclosure>;

}  // namespace softcheck::numerics
