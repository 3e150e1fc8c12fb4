// Bugs in the attributes of attention's gradients.
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

// ALiBi is added where the forward pass subtracted it.
// @judged attention_backward f32: plain masked=zero; fail gradient; AttributesAreComputedAsDefined; domain alibi
GRADIENT_BUG(mutant_attention_backward_alibi_sign, Real, probability(std::size_t i, std::size_t j) const) {
  AttributedRow<Real> row = head.rows[i];
  row.slope = -row.slope;
  return std::exp(attributed_score(row, j) - head.saved_lse[i]);
}

// The bias that the forward pass added is not added again.
// @judged attention_backward f32: plain masked=zero; fail gradient; AttributesAreComputedAsDefined; domain bias
GRADIENT_BUG(mutant_attention_backward_bias_left_out, Real, probability(std::size_t i, std::size_t j) const) {
  AttributedRow<Real> row = head.rows[i];
  row.bias.clear();
  return std::exp(attributed_score(row, j) - head.saved_lse[i]);
}

// Causal with other lengths aligns the first query with the first key: the forward pass aligned the last ones
// (ml-explore/mlx 2835).
// @judged attention_backward f32: plain masked=zero; fail gradient; EveryPairOfClassesIsComputed;
// dq|dk|dv|kernel.masked_row
BUG(mutant_attention_backward_causal_top_left, gradients_of_changed_call) { a.of.plain.diagonal = 0; }

// The sum is computed again, and the sink is not in it (NVIDIA/TransformerEngine 3551 drops it in the backward pass).
// @judged attention_backward f32: plain masked=zero; fail gradient; AttributesAreComputedAsDefined; domain sinks
GRADIENT_BUG(mutant_attention_backward_sink_not_in_sum, Real, probability(std::size_t i, std::size_t j) const) {
  const std::vector<Real> x = scores_by(head.rows[i], usual_score);
  const Real m = largest(x);
  Real sum = 0;
  for (const Real score : x) sum += std::exp(score - m);
  return std::exp(x[j] - m) / sum;
}

// The gradient goes past the softcap as if it were not there.
// @judged attention_backward f32: plain masked=zero; fail gradient; AttributesAreComputedAsDefined; dq|dk; domain
// softcap
GRADIENT_BUG(mutant_attention_backward_softcap_slope_left_out, Real,
             score_gradient(std::size_t i, std::size_t j, Real p, Real own_delta) const) {
  return p * (this->product(i, j) - own_delta);
}

// 1 - y^2 of the capped score y itself, not of y / softcap.
// @judged attention_backward f32: plain masked=zero; fail gradient; AttributesAreComputedAsDefined; dq|dk; domain
// softcap
GRADIENT_BUG(mutant_attention_backward_softcap_slope_of_capped, Real,
             score_gradient(std::size_t i, std::size_t j, Real p, Real own_delta) const) {
  const AttributedRow<Real>& row = head.rows[i];
  const Real y = row.softcap == 0 ? 0 : capped(score<Real>(row, j), row.softcap);
  return p * (this->product(i, j) - own_delta) * (1 - y * y);
}

// Coefficients are rounded to bf16 for dv, and the contract does not allow it.
// @judged attention_backward f32: plain masked=zero; fail gradient; dv
GRADIENT_BUG(mutant_attention_backward_weights_without_word, Real, stored_weight(Real p) const) {
  return rounded_to_bf16(static_cast<float>(p));
}

// The forward pass has the window, its gradient does not.
// @judged attention_backward f32: plain masked=zero; fail gradient; AttributesAreComputedAsDefined;
// dq|dk|dv|kernel.masked_row; domain window
BUG(mutant_attention_backward_window_ignored, gradients_of_changed_call) { a.of.left = a.of.right = -1; }

// The gradient's window does not count the query's own key, and so is one key wider.
// @judged attention_backward f32: plain masked=zero; fail gradient; AttributesAreComputedAsDefined;
// dq|dk|dv|kernel.masked_row; domain window
BUG(mutant_attention_backward_window_one_key_more, gradients_of_changed_call) {
  if (a.of.left >= 0) ++a.of.left;
}
