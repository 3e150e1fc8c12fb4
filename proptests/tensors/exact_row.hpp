#pragma once

#include <span>

#include "numerics/contract.hpp"
#include "numerics/enclosure.hpp"
#include "proptests/judge/op.hpp"

namespace softcheck::proptests {

/// Two doubles with an exact value between them.
struct DoubleBounds {
  double lower = 0;
  double upper = 0;
};

/// Are the ends at most four doubles apart? As good as a caller can ask for.
bool is_narrow(const numerics::Enclosure& value);
DoubleBounds bounds_of(const numerics::Enclosure& value);

/// The exact values of the op for one row of logits, one for each element or one for the row.
///
/// logits   (n) at least one finite, no NaN; or +inf, whose limit it is then
/// error    at most four doubles, but for values that cancel beyond 512 bits
void exact_row(Op op, const numerics::Contract& contract, std::span<const double> logits, double theta,
               std::span<double> lower, std::span<double> upper);

/// What stands in place of them for a row with nothing visible, as masked= says.
void exact_masked_row(Op op, numerics::MaskedRows masked, std::size_t n, std::span<double> lower,
                      std::span<double> upper);

}  // namespace softcheck::proptests
