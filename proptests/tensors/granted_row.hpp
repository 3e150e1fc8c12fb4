#pragma once

#include <span>

#include "numerics/contract.hpp"
#include "proptests/judge/op.hpp"

namespace softcheck::proptests {

/// What a contract grants at each value of one row: |got - exact| <= allowed. 0 for a masked item, infinite where
/// nothing is promised; of a row with +inf that of its limit.
///
/// logits   (n) at least one finite, no NaN; or +inf
void granted_row(Op op, const numerics::Contract& contract, std::span<const double> logits, double theta,
                 std::span<double> allowed);

}  // namespace softcheck::proptests
