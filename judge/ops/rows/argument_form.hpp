#pragma once

#include "judge/ops/rows/judged_row.hpp"
#include "numerics/filter/argument_filter.hpp"
#include "numerics/rounding/contract.hpp"

namespace softcheck::proptests {

/// What an op's rows need to be judged by the millions (numerics/filter/argument_filter.hpp).
struct ArgumentForm {
  numerics::ArgumentValue value;
  /// The threshold of rows with these statistics, of the magnitudes nothing: it grows with each of the statistics, so
  /// that those of the least rows give one for all.
  numerics::ArgumentThreshold (*threshold)(const numerics::Contract&, const Statistics&);
};

/// A threshold with what the magnitudes |m / theta + ln S| and |m| / theta add, and ln S where the statistics have
/// none, of an op whose threshold is affine in them: what 1 of each adds to it.
///
/// statistics   their magnitudes of the maximum and of the log-sum-exp are 0
numerics::ArgumentThreshold with_magnitudes(const ArgumentForm& form, const numerics::Contract& contract,
                                            const Statistics& statistics);

}  // namespace softcheck::proptests
