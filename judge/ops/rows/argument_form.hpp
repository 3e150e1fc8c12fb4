#pragma once

#include "judge/ops/rows/judged_row.hpp"
#include "numerics/filter/argument_filter.hpp"
#include "numerics/rounding/contract.hpp"

namespace softcheck::proptests {

/// What an op needs so that its rows can be judged by the millions (numerics/filter/argument_filter.hpp).
struct ArgumentForm {
  numerics::ArgumentValue value;
  /// The threshold of rows with these statistics, without the part that magnitudes add. It increases with each
  /// statistic, so the statistics that bound all rows give a threshold for all.
  numerics::ArgumentThreshold (*threshold)(const numerics::Contract&, const Statistics&);
};

/// The threshold, and how much it grows per unit of |m / theta + ln S|, of |m| / theta, and of ln S if the statistics
/// have none. For ops whose threshold is affine in them.
///
/// statistics   the magnitudes of the maximum and of the log-sum-exp are 0
numerics::ArgumentThreshold with_magnitudes(const ArgumentForm& form, const numerics::Contract& contract,
                                            const Statistics& statistics);

}  // namespace softcheck::proptests
