// Bugs of rows: sentinels instead of -inf.
#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

// C3, lattice #361, the class of ONNX Runtime #20059: a masked item is scored -10000 instead of -inf: it wins where the
// visible ones lie lower.
// @judged softmax f32 bf16: plain; fail C3; AMaskedItemIsADeletedOne
BUG(mutant_mask_value_minus_1e4, changed_rows, softmax_row) {
  const Real m = maximum(row.logits);
  for (Real& x : row.logits) x = x == -infinity && std::isfinite(m) ? -1e4f : x;
}

// C3, the class of NNlib #43: in log-softmax a masked item is scored -1e9 instead of -inf, and gets a finite
// log-probability.
// @judged log_softmax f32: plain; fail C3; AMaskedItemIsADeletedOne
BUG(mutant_mask_value_minus_1e9, changed_rows, log_softmax_row) {
  const Real m = maximum(row.logits);
  for (Real& x : row.logits) x = x == -infinity && std::isfinite(m) ? -1e9f : x;
}

// C3, rvllm PR #1, lightseq PR #74: lanes without a logit hold 0, and the maximum is at least that: rows far below zero
// are 0/0.
// @judged softmax f32 bf16: plain; fail C3
BUG(mutant_maximum_starts_at_zero, each_row) {
  const Real m = maximum(row.logits);
  divide(row.out, weights(row, m < 0 && m > -infinity ? Real(0) : m, row.out));
}

// C3, FlashInfer #4267: the running maximum starts at -5e4 instead of -inf.
// @judged softmax f32: plain; fail C3; EveryValueLiesWithinItsThreshold|LayoutsAndNeighboursDoNotMatter
BUG(mutant_sentinel_5e4, each_narrow_row) {
  const float m = maximum(row.logits);
  const float sum = weights(row, m < -5e4f && m > -infinity ? -5e4f : m, row.out);
  divide(row.out, sum);
}

// C3: a masked item gets a finite score. It wins, or shares, if the visible scores lie below it:
// TransformerLens #318 uses -1e5, BERT -1e9, and many kernels of f32 -1e30.
template <class Real>
static void softmax_with_masked_items(RowOf<Real>& row, Real sentinel) {
  if (std::isfinite(maximum(row.logits))) {
    for (Real& x : row.logits) x = x == -infinity ? sentinel : x;
  }
  softmax(row);
}

// @judged softmax f32 bf16 f64: plain; fail C3; LogitsReachTheirRange
BUG(mutant_mask_value_minus_1e5, each_row) { softmax_with_masked_items(row, Real(-1e5)); }

// @judged softmax f32 bf16: plain; fail C3; LogitsReachTheirRange
BUG(mutant_softmax_mask_value_minus_1e9, each_row) { softmax_with_masked_items(row, Real(-1e9)); }

// @judged softmax f32: plain; fail C3; LogitsReachTheirRange
BUG(mutant_mask_value_minus_1e30, each_row) { softmax_with_masked_items(row, Real(-1e30)); }
