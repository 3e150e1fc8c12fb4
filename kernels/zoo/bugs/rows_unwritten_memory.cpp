// Bugs of rows: memory that was never written.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>

#include "kernels/zoo/numbered_rows.hpp"
#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

// C16, KernelBench PR #82: results are added to the output, which a framework had cleared.
// @judged log_softmax f64: exp=1ulp sum=sequential masked=nan; fail C16; EveryValueLiesWithinItsThreshold;
// kernel.log_softmax.element
SOFTCHECK_MUTANT mutant_adds_to_output(const softcheck_call* call) {
  std::optional<Matrices> matrices = matrices_of(*call);
  if (!matrices) {
    return 1;
  }
  std::int64_t r = 0;
  return each_row(*matrices, [&]<class Real>(RowOf<Real>& row) {
    log_softmax(row);
    for (std::size_t i = 0; i < row.out.size(); ++i) {
      row.out[i] += matrices->out.get<Real>(r, static_cast<std::int64_t>(i));
    }
    ++r;
  });
}

// C16: a row that holds a NaN is skipped: its output is whatever the memory held.
// @judged softmax f32: exp=1ulp sum=sequential masked=nan; fail C16; ANanLogitMakesItsRowNan; kernel.nan_row
SOFTCHECK_MUTANT mutant_nan_row_unwritten(const softcheck_call* call) {
  return each_row(call, [](auto& row) {
    if (std::isnan(maximum(row.logits))) {
      row.out.clear();
      return;
    }
    softmax(row);
  });
}

// C16, LeetCUDA PR #419: all 32 partial sums are added, though a short row has written fewer; the others are of an
// earlier row.
// @judged softmax f32: exp=1ulp sum=sequential masked=nan; fail C16; EarlierCallsDoNotMatter; kernel.softmax.element
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
// @judged softmax f32: exp=1ulp sum=sequential masked=nan; fail C16; EveryPairOfClassesIsComputed;
// kernel.softmax.element|kernel.masked_row; witness >=100001; effort default
SOFTCHECK_MUTANT mutant_rows_behind_100000_unwritten(const softcheck_call* call) {
  std::optional<Matrices> matrices = matrices_of(*call);
  if (!matrices) {
    return 1;
  }
  matrices->logits.rows = std::min<std::int64_t>(matrices->logits.rows, 100'000);
  return each_row(*matrices, [](auto& row) { softmax(row); });
}

// C16: the last element of a row is never written.
// @judged softmax f32: exp=1ulp sum=sequential masked=nan; fail C16; EveryValueLiesWithinItsThreshold;
// kernel.softmax.element
SOFTCHECK_MUTANT mutant_unwritten_tail(const softcheck_call* call) {
  return each_row(call, [](auto& row) {
    softmax(row);
    if (row.out.size() > 1) {
      row.out.pop_back();
    }
  });
}

// C16: the sum lives in a workspace that the first row alone finds cleared.
// @judged logsumexp f32: exp=1ulp sum=sequential masked=nan; fail C16; EarlierCallsDoNotMatter; kernel.logsumexp.value
SOFTCHECK_MUTANT mutant_workspace_not_cleared(const softcheck_call* call) {
  static double sum = 0;
  return each_row(call, [](Row& row) {
    row.out[0] = logsumexp_or(row, [](const Row& finite) {
      Sums<float> sums = sums_of(finite);
      sum += sums.weights;
      sums.weights = static_cast<float>(sum);
      return logsumexp_of(finite, sums);
    });
  });
}
