#pragma once

#include <functional>
#include <vector>

#include "judge/ops/rows/row_judge.hpp"
#include "judge/ops/rows/row_op.hpp"

namespace softcheck::proptests {

/// What the numbers of a call make of an op that looks at all of its rows (OpTraits::of_whole_calls).
enum class CallState {
  usual,
  nan,      // a NaN in a row that counts: of one value NaN is due
  nothing,  // no row counts
  unasked,  // a row that counts holds an infinity, or the weights that are divided by add up to 0
};

/// The weights with which the rows count, in order.
///
/// contract   of the rows; not otherwise read
struct CountedRows {
  CallState state = CallState::usual;
  CountedWeights weights;
  bool divides_by_nothing = false;  // some rows count, and their weights add up to 0: nothing is promised
  bool empty = true;                // no row has a logit
};
CountedRows counted_rows(Op op, const CallOfRows& call);

/// Judges the one value of a call: by the thresholds of its contract, or by what it must be. A mean of nothing is what
/// masked= says, NaN or 0; a sum of nothing is 0.
///
/// Claims: the op's own, kernel.masked_row of a call without logits, kernel.nan_row. Nothing where nothing is promised.
RowVerdicts judge_call(Op op, const CallOfRows& call, double got);

/// The exact value between two doubles, and what the contract grants: as exact_row and granted_row have them.
void exact_call(Op op, const CallOfRows& call, double& lower, double& upper);
double granted_call(Op op, const CallOfRows& call);

}  // namespace softcheck::proptests
