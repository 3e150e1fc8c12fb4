#pragma once

#include "judge/ops/rows/row_judge.hpp"
#include "judge/ops/rows/row_op.hpp"

namespace softcheck::proptests {

/// State of a call of an op that reads all of its rows (OpTraits::of_whole_calls).
enum class CallState {
  usual,
  nan,      // a counted row holds a NaN: the one value must be NaN
  nothing,  // no row counts
  unasked,  // a counted row holds an infinity, or the divisor is 0: nothing is promised
};

/// The weights of the counted rows, in order.
struct CountedRows {
  CallState state = CallState::usual;
  CountedWeights weights;
  bool divides_by_nothing = false;  // rows count, but their weights add up to 0: nothing is promised
  bool empty = true;                // no row has logits
};
CountedRows counted_rows(Op op, const CallOfRows& call);

/// Judges the one value of a call by the thresholds of its contract, or by its kind. A mean over no rows is NaN or 0,
/// as masked= says; a sum over no rows is 0.
///
/// Claims: the op's own, kernel.masked_row for a call without logits, kernel.nan_row. No findings if nothing is
/// promised.
RowVerdicts judge_call(Op op, const CallOfRows& call, double got);

/// The call's exact value between two doubles, and its threshold; as exact_row and granted_row.
void exact_call(Op op, const CallOfRows& call, double& lower, double& upper);
double granted_call(Op op, const CallOfRows& call);

}  // namespace softcheck::proptests
