// B22: the divergence of two rows of logits, and its gradient. Derivation: docs/tolerances/cross_entropy.md.
#include "numerics/rounding/rounding_divergence.hpp"

#include <algorithm>

#include "numerics/formats/fp_environment.hpp"

namespace softcheck::numerics {
namespace {

Contract in_accumulator(Contract contract) {
  contract.output = contract.accumulator;
  return contract;
}

// (1 + relative) e^log (magnitude + error) - magnitude.
template <class T>
T grown(const T& relative, const T& log, const T& magnitude, const T& error) {
  const T factor = exp(log);
  return (relative * factor + expm1(log)) * magnitude + (1 + relative) * factor * error;
}

}  // namespace

template <class T>
DivergenceThreshold<T>::Side::Side(const Contract& contract, const RowStatistics<T>& row,
                                   const OperationModel<T>& model, Grants grants)
    : logarithm(log_softmax_error(contract, row, grants)), plain(softmax_error(contract, row, grants)) {
  // As in B15: the argument errs by the logarithm's error, and by A - 1 roundings of its magnitude.
  const T more = expm1(T(std::max(contract.exp_argument_error - 1, 0.0)) * model.unit);
  const T first = logarithm.constant + logarithm.floor;
  power = RoundingModel<T>(contract, row, grants)
              .element(first + more * (row.log_sum + first) + model.exp_unit,
                       logarithm.slope + more * (1 + logarithm.slope), model.exp_floor);
}

template <class T>
DivergenceThreshold<T>::DivergenceThreshold(const Contract& contract, const RowStatistics<T>& weighing,
                                            const RowStatistics<T>& other, Grants grants)
    : model_(contract),
      weighing_(in_accumulator(contract), weighing, model_, grants),
      other_(in_accumulator(contract), other, model_, grants),
      height_(T(static_cast<double>(summation_height(contract, weighing.size)) + 3) * model_.unit),
      factors_(T(weighing.theta == 1 ? 6 : 9) * model_.unit) {}

template <class T>
void DivergenceThreshold<T>::add_to(Sum& sum, const DivergenceItem<T>& item, double count, int more) const {
  const T times(count), size = item.ratio + more, off = ratio_error(item);
  sum.magnitude = sum.magnitude + times * (item.coefficient * size);
  // The difference of the logarithms, and the 1 that a kernel may add.
  const T roundings = T(1 + more) * model_.unit;
  const T relative = weighing_.relative(item.deviation);
  sum.error = sum.error + times * (item.coefficient * grown(relative, roundings, size, off));
  sum.lost = sum.lost +
             times * (weighing_.lost() * exp(roundings) * (size + off) + model_.product_floor + 2 * model_.sum_floor);
}

template <class T>
void DivergenceThreshold<T>::add(const DivergenceItem<T>& item, double count) {
  const FpEnvironmentGuard guard;
  add_to(plain_, item, count, 0);
  add_to(moved_, item, count, 1);
}

template <class T>
ScalarThreshold<T> DivergenceThreshold<T>::divergence(const T& magnitude) const {
  const FpEnvironmentGuard guard;
  return model_.output(grown(T(0), height_, plain_.magnitude, plain_.error), magnitude, exp(height_) * plain_.lost);
}

template <class T>
ScalarThreshold<T> DivergenceThreshold<T>::difference(const DivergenceItem<T>& item, const T& upstream,
                                                      const T& difference) const {
  const FpEnvironmentGuard guard;
  const T off = weighing_.relative(item.deviation) * item.coefficient +
                other_.relative(item.other_deviation) * item.other_coefficient;
  const T size = item.coefficient + item.other_coefficient, lost = weighing_.lost() + other_.lost() + model_.sum_floor;
  const T floor = exp(factors_) * (upstream * lost + model_.product_floor * (4 + size + off + lost) + model_.sum_floor);
  return model_.output(upstream * grown(T(0), factors_, size, off), upstream * difference, floor);
}

template <class T>
ScalarThreshold<T> DivergenceThreshold<T>::element(const DivergenceItem<T>& item, const T& upstream,
                                                   const T& divergence, const T& magnitude) const {
  const FpEnvironmentGuard guard;
  const T size = item.ratio + divergence + 2;
  const T off = ratio_error(item) + grown(T(0), height_, moved_.magnitude, moved_.error) + exp(height_) * moved_.lost;
  const T relative = weighing_.relative(item.deviation);
  const T rounding = upstream * (item.coefficient * grown(relative, factors_, size, off));
  const T all = size + off, steps = model_.product_floor + model_.sum_floor;
  const T floor = exp(factors_) * (upstream * (weighing_.lost() * all + 2 * steps) +
                                   steps * (1 + all) * (2 + item.coefficient + upstream));
  return model_.output(rounding, magnitude, floor);
}

template class DivergenceThreshold<UpperBound>;
template class DivergenceThreshold<Enclosure>;

}  // namespace softcheck::numerics
