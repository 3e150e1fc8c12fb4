#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "numerics/certificate.hpp"
#include "numerics/contract.hpp"
#include "proptests/judge/op.hpp"

namespace softcheck::proptests {

/// What was found of one row, besides the certificates: whether the thresholds said anything.
struct VacuityCount {
  std::size_t judged = 0;   // values that are neither exact zeros nor below the smallest normal number
  std::size_t vacuous = 0;  // of these, values no larger than the relative part of their own threshold

  VacuityCount& operator+=(const VacuityCount& other);
  /// More than one in a hundred: the contract promises too little for a verdict.
  bool too_many() const { return vacuous * 100 > judged; }
};

struct RowFindings {
  std::vector<numerics::Certificate> certificates;
  VacuityCount vacuity;
};

/// Judges what a kernel returned for one row of logits by the thresholds of its contract (numerics/rounding.hpp, B2,
/// B4, B5, B6, B10): for each claim one certificate, of the element that used most of its threshold.
///
/// Claims: kernel.softmax.element, kernel.softmax.row_sum, kernel.log_softmax.element, kernel.logsumexp.value,
/// kernel.entropy.value, kernel.adaptive_softmax.element, and kernel.masked_row for a fully masked row.
///
/// logits   (n) finite or -inf
/// got      (n), or (1) for the row scalars
/// witness  text that replays the row
RowFindings judge_row(Op op, const numerics::Contract& contract, std::span<const double> logits, double theta,
                      std::span<const double> got, const std::string& witness);

}  // namespace softcheck::proptests
