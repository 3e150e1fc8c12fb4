#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "numerics/certificate.hpp"
#include "numerics/contract.hpp"
#include "proptests/judge/op.hpp"
#include "proptests/judge/value_certificate.hpp"

namespace softcheck::proptests {

/// The findings about one row.
struct RowVerdicts {
  std::vector<ValueFinding> findings;  // one for each claim
  VacuityCount vacuity;                // whether the thresholds said anything
};

/// Judges a kernel's results for one row of logits by the thresholds of its contract (numerics/rounding.hpp, B2,
/// B4, B5, B6, B10): for each claim one finding, of the element that used most of its threshold.
///
/// Claims: kernel.softmax.element, kernel.softmax.row_sum, kernel.log_softmax.element, kernel.logsumexp.value,
/// kernel.entropy.value, kernel.adaptive_softmax.element, and kernel.masked_row for a fully masked row.
///
/// logits   (n) finite or -inf
/// got      (n), or (1) for the row scalars
RowVerdicts judge_values(Op op, const numerics::Contract& contract, std::span<const double> logits, double theta,
                         std::span<const double> got);

/// The same for a row with +inf among its logits: every value is NaN or the limit, which gives those items all weight.
///
/// logits   (n) at least one +inf, no NaN
RowVerdicts judge_limit(Op op, const numerics::Contract& contract, std::span<const double> logits, double theta,
                        std::span<const double> got);

struct RowFindings {
  std::vector<numerics::Certificate> certificates;
  VacuityCount vacuity;
};

/// judge_values with its findings written out.
///
/// witness  text that replays the row
RowFindings judge_row(Op op, const numerics::Contract& contract, std::span<const double> logits, double theta,
                      std::span<const double> got, const std::string& witness);

}  // namespace softcheck::proptests
