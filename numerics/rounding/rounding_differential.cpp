// Differential attention. Derivation: docs/ops/differential_attention.md.

#include "numerics/rounding/rounding_differential.hpp"

#include <cmath>

#include "numerics/formats/fp_environment.hpp"
#include "numerics/rounding/rounding_operations.hpp"
#include "numerics/rounding/theorem_attention_bounds.hpp"

namespace softcheck::numerics {
namespace {

using Bound = UpperBound;

// The error of a part whose factors round `by` in their logarithm.
Bound grown(const DifferentialPart& part, const Bound& by) { return exp(by) * part.error + expm1(by) * part.magnitude; }

}  // namespace

ScalarThreshold<UpperBound> differential_error(const Contract& contract, double lambda, const DifferentialPart& first,
                                               const DifferentialPart& second, const UpperBound& values,
                                               std::uint64_t height, const UpperBound& output) {
  const FpEnvironmentGuard guard;
  const OperationModel<Bound> model(contract);
  const StorageError<Bound> weights = weights_error<Bound>(contract);
  const StorageError<Bound> sums = storage_error<Bound>(contract, contract.values);
  // The difference; lambda, its product and the difference.
  const Bound once = model.unit + weights.unit + sums.unit, thrice = Bound(3) * once;
  const Bound lost = exp(Bound(static_cast<double>(height + 3)) * once) *
                     (model.product_floor + model.sum_floor + Bound(3) * (weights.floor + sums.floor));
  formulas::attention::columns::Quantities<Bound> q;
  q.common_growth = Bound(1);
  q.lost_weight = q.lost_addend = lost;
  q.addends = Bound(1);
  q.output = output;
  q.output_roundoff = model.output_roundoff;
  q.output_floor = model.output_floor;
  q.terms = grown(first, once) + Bound(std::fabs(lambda)) * grown(second, thrice);
  q.magnitude = values + second.magnitude + second.error;  // the last two: what a stored lambda has lost
  const formulas::attention::columns::ColumnBounds<Bound> bounds(q);
  return {bounds.column_output, bounds.column_lost};
}

}  // namespace softcheck::numerics
