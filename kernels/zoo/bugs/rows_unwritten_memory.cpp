// Bugs of rows: memory that was never written.
#include <array>
#include <numeric>

#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

// C16, KernelBench PR #82: results are added to the output, which a framework had cleared.
// @judged log_softmax f64: plain; fail C16
BUG(mutant_adds_to_output, changed_results, log_softmax_row) {
  for (std::size_t i = 0; i < row.out.size(); ++i) {
    row.out[i] += from.out.get<Real>(number, static_cast<std::int64_t>(i));
  }
}

// C16: a row with a NaN is skipped: its output is the previous contents of the memory.
// @judged softmax f32: plain; fail C16; ANanLogitMakesItsRowNan
BUG(mutant_nan_row_unwritten, each_row) {
  if (std::isnan(maximum(row.logits))) {
    row.out.clear();
    return;
  }
  softmax(row);
}

// C16, LeetCUDA PR #419: all 32 partial sums are added, though a short row has written fewer; the others are of an
// earlier row.
// @judged softmax f32: plain; fail C16; EarlierCallsDoNotMatter
SOFTCHECK_MUTANT mutant_reads_stale_partials(const softcheck_call* call) {
  static std::array<double, 32> partial;
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    weights(row, maximum(row.logits), row.out);
    for (std::size_t i = 0; i < row.out.size(); ++i) {
      partial[i % 32] = i < 32 ? row.out[i] : partial[i % 32] + row.out[i];
    }
    divide(row.out, static_cast<Real>(std::accumulate(partial.begin(), partial.end(), 0.0)));
  });
}

// C6, C16: results of rows from 100,000 on are left as they were.
// @judged softmax f32: plain; fail C16; EveryPairOfClassesIsComputed; element|kernel.masked_row; witness >=100001;
// effort default
BUG(mutant_rows_behind_100000_unwritten, rows_of_changed_call, softmax_row) {
  matrices.logits.rows = std::min<std::int64_t>(matrices.logits.rows, 100'000);
}

// C16: the last element of a row is never written.
// @judged softmax f32: plain; fail C16
BUG(mutant_unwritten_tail, changed_results, softmax_row) {
  if (row.out.size() > 1) row.out.pop_back();
}

// C16: the sum is in a workspace that is cleared only for the first row.
// @judged logsumexp f32: plain; fail C16; EarlierCallsDoNotMatter
BUG(mutant_workspace_not_cleared, each_narrow_logsumexp) {
  static double sum = 0;
  Sums<float> sums = sums_of(row);
  sum += sums.weights;
  sums.weights = static_cast<float>(sum);
  return logsumexp_of(row, sums);
}
