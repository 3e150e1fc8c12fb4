// Correct kernels that merge states.
#include "kernels/zoo/merge_rows.hpp"

using namespace softcheck::kernels::zoo;

// All parts at once, divided at the end.
// @judged merge_states f64 f32 f16 bf16 8bits: plain masked=zero; pass
CORRECT(correct_merge_states, each_merge_row) { row.merge(); }

// Correct, but keeps no contract here: O - (1 - w) (O - O_k) keeps the rounding error of the larger part.
// @judged merge_states f32: plain masked=zero; fail merge;
// EveryValueLiesWithinItsThreshold|EveryPairOfClassesIsComputed
CORRECT(correct_merge_states_interpolated, each_merge_row) {
  for (std::size_t k = 0; k < row.parts(); ++k) {
    if (row.is_empty(k)) continue;
    const Real m = std::isnan(row.lse[k]) || row.lse[k] > row.merged ? row.lse[k] : row.merged;
    const Real before = row.power(row.merged - m), own = row.power(row.lse[k] - m);
    const Real weight = own / (before + own);
    for (std::size_t c = 0; c < row.out.size(); ++c) row.out[c] -= weight * (row.out[c] - row.outputs[k][c]);
    row.merged = m + row.logarithm(before + own);
  }
}

// Weights that add up to 1, then the sum.
// @judged merge_states f32: plain masked=zero; pass
CORRECT(correct_merge_states_normalised, each_merge_row) {
  const Real m = row.maximum();
  Real s = 0;
  for (std::size_t k = 0; k < row.parts(); ++k) s += row.is_empty(k) ? 0 : row.power(row.lse[k] - m);
  if (s == 0) return;
  for (std::size_t k = 0; k < row.parts(); ++k) {
    if (!row.is_empty(k)) row.add(k, row.power(row.lse[k] - m) / s);
  }
  row.merged = m + row.logarithm(s);
}

// One part after the other with a running maximum, as a merge of two at a time.
// @judged merge_states f32 bf16: plain masked=zero; pass
CORRECT(correct_merge_states_online, each_merge_row) {
  Real m = -std::numeric_limits<Real>::infinity(), s = 0;
  for (std::size_t k = 0; k < row.parts(); ++k) {
    if (row.is_empty(k)) continue;
    const Real larger = std::isnan(row.lse[k]) || row.lse[k] > m ? row.lse[k] : m;
    const Real kept = s == 0 ? 0 : row.power(m - larger);
    for (Real& value : row.out) value *= kept;
    const Real weight = row.power(row.lse[k] - larger);
    s = s * kept + weight;
    m = larger;
    row.add(k, weight);
  }
  if (s == 0) return;
  row.divide(s);
  row.merged = m + row.logarithm(s);
}

// Correct, but of no contract here: weights e^(L_k - L) from L as a number of the format.
// @judged merge_states f32: plain masked=zero; fail merge
CORRECT(correct_merge_states_weights_from_lse, changed_merge_results) {
  std::fill(row.out.begin(), row.out.end(), 0);
  for (std::size_t k = 0; k < row.parts(); ++k) {
    if (!row.is_empty(k)) row.add(k, row.power(row.lse[k] - row.merged));
  }
}
