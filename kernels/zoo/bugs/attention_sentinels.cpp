// Bugs of attention: sentinels instead of -inf.
#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

// C3, lattice #361: a masked score is -10000: the masked key wins if the others lie below. It is left out if its weight
// is 0.
// @judged attention f32: plain entropy=exact; fail C3; AMaskedItemIsADeletedOne
BUG(mutant_attention_mask_1e4, attend_changed_scores) {
  const Real m = largest(x);
  if (m > lowest<Real> && std::exp(Real(-1e4) - m) > 0) {
    for (Real& value : x) value = value == lowest<Real> ? Real(-1e4) : value;
  }
}

// C3, FlashInfer #4267: the maximum starts at -5e4, called infinity: rows whose scores all lie below come to nothing.
// @judged attention bf16: plain entropy=exact; fail C3; EveryValueLiesWithinItsThreshold|AMaskedItemIsADeletedOne
BUG(mutant_attention_maximum_from_5e4, attend_by_maximum) { return std::max(m, Real(-5e4)); }

// C3, the class of llama.cpp #12776: the maximum starts at 0: scores far below it underflow.
// @judged attention f32: plain entropy=exact; fail C3
BUG(mutant_attention_maximum_from_zero, attend_by_maximum) { return std::max(m, Real(0)); }

// C3: finite numbers in place of minus infinity, each beyond those of other files. TransformerLens #318 masks by -1e5
// and FlashInfer #4401 begins a running maximum at -5e4; -1e9 is Tensor2Tensor's and BERT's.
// A masked score is the sentinel. Rows with nothing visible stay as they are.
template <class Real>
static void attend_with_masked_scores(Row<Real>& row, Real sentinel) {
  auto x = scores(row);
  if (largest(x) > lowest<Real>) {
    for (Real& value : x) value = value == lowest<Real> ? sentinel : value;
  }
  const Real m = largest(x);
  // A weight of 0 is left out of the sums, whatever its value is.
  for (Real& value : x) value = std::exp(value - m) == 0 ? lowest<Real> : value;
  finish(row, accumulate(row, x, m));
}

// @judged attention f32 bf16 f16: plain entropy=exact; fail C3; ScoresReachTheirRange
BUG(mutant_attention_mask_1e5, attend) { attend_with_masked_scores(row, Real(-1e5)); }

// @judged attention f32 bf16 f16: plain entropy=exact; fail C3; ScoresReachTheirRange
BUG(mutant_attention_mask_1e9, attend) { attend_with_masked_scores(row, Real(-1e9)); }

// @judged attention f32 f64: plain entropy=exact; fail C3; ScoresReachTheirRange
BUG(mutant_attention_mask_1e30, attend) { attend_with_masked_scores(row, Real(-1e30)); }

// @judged attention f32 f16: plain entropy=exact; fail C3; ScoresReachTheirRange
BUG(mutant_attention_maximum_from_6e4, attend_by_maximum) { return std::max(m, Real(-6e4)); }

// Scores above 1e5 are NaN, as those of a kernel that exponentiates a part of them before it subtracts the maximum.
// @judged attention f32 f16: plain entropy=exact; fail C3; ScoresReachTheirRange
BUG(mutant_attention_nan_from_1e5, attend_changed_scores) {
  for (Real& value : x) value = value > Real(1e5) ? not_a_number<Real> : value;
}
