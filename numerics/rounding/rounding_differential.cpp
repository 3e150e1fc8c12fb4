// Differential attention. Derivation: docs/ops/differential_attention.md.

#include "numerics/rounding/rounding_differential.hpp"

#include <cmath>

#include "numerics/formats/fp_environment.hpp"
#include "numerics/rounding/rounding_operations.hpp"
#include "numerics/rounding/theorem_attention_bounds.hpp"

namespace softcheck::numerics {
namespace {

using Bound = UpperBound;

// Of a number in the accumulator and in the formats of weights and values.
Bound one_rounding(const Contract& contract) {
  const FpEnvironmentGuard guard;
  return OperationModel<Bound>(contract).unit + weights_error<Bound>(contract).unit +
         storage_error<Bound>(contract, contract.values).unit;
}

}  // namespace

DifferentialThreshold::Growth::Growth(const Bound& r) {
  const FpEnvironmentGuard guard;
  factor = exp(r);
  more = expm1(r);
}

DifferentialThreshold::DifferentialThreshold(const Contract& contract, double lambda, std::uint64_t height)
    : rounding_(one_rounding(contract)), once_(rounding_), thrice_(Bound(3) * rounding_), lambda_(std::fabs(lambda)) {
  const FpEnvironmentGuard guard;
  const OperationModel<Bound> model(contract);
  lost_ = exp(Bound(static_cast<double>(height + 3)) * rounding_) *
          (model.product_floor + model.sum_floor +
           Bound(3) * (weights_error<Bound>(contract).floor + storage_error<Bound>(contract, contract.values).floor));
  output_roundoff_ = model.output_roundoff;
  output_floor_ = model.output_floor;
}

ScalarThreshold<UpperBound> DifferentialThreshold::column(const DifferentialPart& first, const DifferentialPart& second,
                                                          const UpperBound& values, const UpperBound& output) const {
  const FpEnvironmentGuard guard;
  formulas::attention::columns::Quantities<Bound> q;
  q.common_growth = Bound(1);
  q.lost_weight = q.lost_addend = lost_;
  q.addends = Bound(1);
  q.output = output;
  q.output_roundoff = output_roundoff_;
  q.output_floor = output_floor_;
  q.terms = once_.of(first) + lambda_ * thrice_.of(second);
  q.magnitude = values + second.magnitude + second.error;  // the last two: what a stored lambda has lost
  const formulas::attention::columns::ColumnBounds<Bound> bounds(q);
  return {bounds.column_output, bounds.column_lost};
}

}  // namespace softcheck::numerics
