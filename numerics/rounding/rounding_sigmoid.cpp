// Sigmoid attention. Derivation: docs/ops/sigmoid_attention.md.

#include "numerics/rounding/rounding_sigmoid.hpp"

#include <cmath>

#include "numerics/formats/fp_environment.hpp"
#include "numerics/formats/next_double.hpp"
#include "numerics/rounding/rounding_operations.hpp"
#include "numerics/rounding/theorem_attention_bounds.hpp"

namespace softcheck::numerics {
namespace {

using Bound = UpperBound;

// min(1, e^(x + e)), which bounds the coefficient of a score x that is off by e.
Bound raised(double x, const Bound& e) {
  const double z = next_above(next_above(x) + upper(e));
  // A double's exponential errs by less than 2^-40.
  return z < 0 ? Bound(next_above(std::exp(z) * (1 + 0x1p-40))) : Bound(1);
}

}  // namespace

SigmoidThreshold::SigmoidThreshold(const Contract& contract, std::uint64_t height)
    : contract_(contract), model_(contract) {
  const FpEnvironmentGuard guard;
  const Bound h(static_cast<double>(height));
  const StorageError<Bound> weights = weights_error<Bound>(contract);
  const StorageError<Bound> sums = storage_error<Bound>(contract, contract.values);
  argument_ = expm1(Bound(contract.exp_argument_error) * model_.unit);
  // 1 + t, its reciprocal and a product with it; the product with the value and the additions.
  own_ = (Bound(3) + h + Bound(1)) * model_.unit + weights.unit + model_.reading_unit + (h + Bound(2)) * sums.unit;
  const Bound growth = exp(own_);
  if (contract.sigmoid == SigmoidForm::tanh) {
    absolute_ = growth * expm1(minus_log1m(Bound(contract.tanh_error) * model_.roundoff) + model_.unit) * Bound(0.5) +
                growth * (model_.product_floor + model_.sum_floor);
  }
  lost_weight_ = growth * (model_.exp_floor + model_.product_floor + weights.floor);
  lost_addend_ = growth * (model_.product_floor + model_.sum_floor + (h + Bound(2)) * sums.floor);
  lost_weight_ = lost_weight_ + growth * model_.reading_floor;
}

Bound SigmoidThreshold::key_error(const SigmoidKey& key) const {
  const FpEnvironmentGuard guard;
  // b is given, or computed by a logarithm; then it is rounded. Folding a factor into the terms of x, whose
  // magnitudes are at most |x| + 2 |b| together, rounds each of them.
  const Bound moved = key.score_error + key.bias * expm1(model_.log_roundoff + Bound(2) * model_.unit);
  const Bound folded = contract_.exp_argument_error > 1 ? Bound(2) * key.bias : Bound(0);
  const Bound e = moved + argument_ * (key.size + folded + moved) + model_.exp_unit + model_.sum_floor;
  // The logarithm's slope is 1 minus the coefficient, at most raised(-x, e) on the way.
  const Bound relative = expm1(own_ + e * raised(-key.x, e)) * key.coefficient;
  return minimum(relative, exp(own_) * raised(key.x, e)) + absolute_;
}

ScalarThreshold<UpperBound> SigmoidThreshold::weight_error(SigmoidKey key) const {
  const FpEnvironmentGuard guard;
  key.score_error = key.size * expm1(model_.reading_unit) + model_.reading_floor;
  return {key_error(key), lost_weight_};
}

ScalarThreshold<UpperBound> SigmoidThreshold::column(const Bound& terms, const Bound& magnitude, std::uint64_t keys,
                                                     const Bound& output) const {
  const FpEnvironmentGuard guard;
  formulas::attention::columns::Quantities<Bound> q;
  q.common_growth = Bound(1);
  q.lost_weight = lost_weight_;
  q.lost_addend = lost_addend_;
  q.addends = Bound(static_cast<double>(keys));
  q.output = output;
  q.output_roundoff = model_.output_roundoff;
  q.output_floor = model_.output_floor;
  q.terms = terms;
  q.magnitude = magnitude;
  const formulas::attention::columns::ColumnBounds<Bound> bounds(q);
  return {bounds.column_output, bounds.column_lost};
}

Bound SigmoidThreshold::excess(const Bound& magnitude, std::uint64_t keys) const {
  return Bound(upper(column((expm1(own_) + absolute_) * magnitude, magnitude, keys, magnitude).total()));
}

}  // namespace softcheck::numerics
