// Bugs in merged states.
#include "kernels/zoo/merge_rows.hpp"

using namespace softcheck::kernels::zoo;

// If all parts are empty, -inf is subtracted from -inf.
// @judged merge_states f32: plain masked=zero; fail merge;
// AFullyMaskedRowIsAsDeclared|AnEmptyCallHasItsValues|EveryPairOfClassesIsComputed
BUG(mutant_merge_states_all_empty_is_nan, changed_merge_results) {
  if (row.maximum() == -std::numeric_limits<Real>::infinity()) {
    std::fill(row.out.begin(), row.out.end(), std::numeric_limits<Real>::quiet_NaN());
    row.merged = std::numeric_limits<Real>::quiet_NaN();
  }
}

// The kernel ignores the base of the log-sum-exps.
// @judged merge_states f32: plain masked=zero; fail merge; lse
BUG(mutant_merge_states_always_natural, changed_merges) { row.base_2 = false; }

// In base 2 the merged log-sum-exp is a natural one.
// @judged merge_states f32: plain masked=zero; fail merge; lse
BUG(mutant_merge_states_base_2_logarithm, changed_merge_results) {
  if (row.base_2) row.merged = row.maximum() + (row.merged - row.maximum()) * static_cast<Real>(0.693147180559945309);
}

// If all parts are empty, the merged log-sum-exp is 0.
// @judged merge_states f32: plain masked=zero; fail merge;
// AFullyMaskedRowIsAsDeclared|AnEmptyCallHasItsValues|EveryPairOfClassesIsComputed
BUG(mutant_merge_states_empty_lse_is_zero, changed_merge_results) {
  if (row.maximum() == -std::numeric_limits<Real>::infinity()) row.merged = 0;
}

// Every row is weighted by the first row's log-sum-exps.
// @judged merge_states f32: plain masked=zero; fail merge;
// LayoutsAndNeighboursDoNotMatter|EveryPairOfClassesIsComputed; lse
BUG(mutant_merge_states_first_row_lse, changed_merges) {
  const View lse(*asked->inputs[1]);
  for (std::size_t k = 0; k < row.parts(); ++k) row.lse[k] = lse.get<Real>(static_cast<std::int64_t>(k), 0);
}

// No more than two parts.
// @judged merge_states f32: plain masked=zero; fail merge; lse
BUG(mutant_merge_states_first_two, changed_merges) {
  if (row.parts() > 2) row.lse.resize(2);
}

// The last part is left out.
// @judged merge_states f32: plain masked=zero; fail merge; lse
BUG(mutant_merge_states_forgets_last, changed_merges) {
  if (row.parts() > 1) row.lse.pop_back();
}

// With a running maximum the sum of outputs is not rescaled.
// @judged merge_states f32: plain masked=zero; fail merge
BUG(mutant_merge_states_forgets_rescaling, each_merge_row) {
  Real m = -std::numeric_limits<Real>::infinity(), s = 0;
  for (std::size_t k = 0; k < row.parts(); ++k) {
    if (row.is_empty(k)) continue;
    const Real larger = std::isnan(row.lse[k]) || row.lse[k] > m ? row.lse[k] : m;
    const Real kept = s == 0 ? 0 : row.power(m - larger), weight = row.power(row.lse[k] - larger);
    s = s * kept + weight;
    m = larger;
    row.add(k, weight);
  }
  if (s == 0) return;
  row.divide(s);
  row.merged = m + row.logarithm(s);
}

// Of an odd number of columns the last is not written.
// @judged merge_states f32: plain masked=zero; fail merge
BUG(mutant_merge_states_last_column, changed_merge_results) {
  if (row.out.size() % 2 == 1 && row.out.size() > 1) row.out.back() = 0;
}

// The merged log-sum-exp is the largest.
// @judged merge_states f32: plain masked=zero; fail merge; lse
BUG(mutant_merge_states_lse_is_maximum, changed_merge_results) { row.merged = row.maximum(); }

// The plain mean of the outputs.
// @judged merge_states f32: plain masked=zero; fail merge
BUG(mutant_merge_states_mean, changed_merge_results) {
  std::fill(row.out.begin(), row.out.end(), 0);
  Real count = 0;
  for (std::size_t k = 0; k < row.parts(); ++k) {
    if (row.is_empty(k)) continue;
    row.add(k, 1);
    ++count;
  }
  if (count > 0) row.divide(count);
}

// Outputs are weighted by their log-sum-exps.
// @judged merge_states f32: plain masked=zero; fail merge
BUG(mutant_merge_states_multiplies_by_lse, changed_merge_results) {
  std::fill(row.out.begin(), row.out.end(), 0);
  Real s = 0;
  for (std::size_t k = 0; k < row.parts(); ++k) {
    if (row.is_empty(k)) continue;
    row.add(k, row.lse[k]);
    s += row.lse[k];
  }
  if (s != 0) row.divide(s);
}

// A part whose log-sum-exp is NaN counts as empty.
// @judged merge_states f32: plain masked=zero; fail merge; ANanLogitMakesItsRowNan|EveryPairOfClassesIsComputed
BUG(mutant_merge_states_nan_is_empty, changed_merges) {
  for (Real& lse : row.lse) lse = std::isnan(lse) ? -std::numeric_limits<Real>::infinity() : lse;
}

// Outputs are rounded to bf16 before they are weighted.
// @judged merge_states f32: plain masked=zero; fail merge
BUG(mutant_merge_states_outputs_in_bf16, changed_merges) {
  for (auto& output : row.outputs) {
    for (auto& value : output) {
      float narrow = static_cast<float>(value);
      std::uint32_t bits;
      std::memcpy(&bits, &narrow, sizeof bits);
      bits &= 0xffff0000u;
      std::memcpy(&narrow, &bits, sizeof bits);
      value = narrow;
    }
  }
}

// An empty part has weight 0, and the kernel multiplies its output by that, though no kernel wrote the output.
// @judged merge_states f32: plain masked=zero; fail merge; AMaskedItemIsADeletedOne|EveryValueLiesWithinItsThreshold
BUG(mutant_merge_states_reads_empty_parts, each_merge_row) {
  const Real m = row.maximum();
  if (m == -std::numeric_limits<Real>::infinity()) return;
  Real s = 0;
  for (std::size_t k = 0; k < row.parts(); ++k) {
    s += row.power(row.lse[k] - m);
    row.add(k, row.power(row.lse[k] - m));
  }
  row.divide(s);
  row.merged = m + row.logarithm(s);
}

// Exponentials of the log-sum-exps themselves.
// @judged merge_states f32: plain masked=zero; fail merge
BUG(mutant_merge_states_without_maximum, each_merge_row) {
  Real s = 0;
  for (std::size_t k = 0; k < row.parts(); ++k) {
    if (row.is_empty(k)) continue;
    s += row.power(row.lse[k]);
    row.add(k, row.power(row.lse[k]));
  }
  if (row.maximum() == -std::numeric_limits<Real>::infinity()) return;
  row.divide(s);
  row.merged = row.logarithm(s);
}

// C5, Dao-AILab/flash-attention 2896: a head dimension beyond 64 that is no multiple of 32 is cut to one.
// @judged merge_states f32: plain masked=zero; fail merge;
// EveryValueLiesWithinItsThreshold|LayoutsAndNeighboursDoNotMatter
BUG(mutant_merge_of_80_columns, changed_merge_results) {
  const std::size_t width = row.out.size();
  for (std::size_t c = width / 32 * 32; width > 64 && c < width; ++c) row.out[c] = 0;
}
