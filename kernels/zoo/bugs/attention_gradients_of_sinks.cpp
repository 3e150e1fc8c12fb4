// Bugs in the gradients of attention of its sinks.
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

// Partial sums of the gradient by a sink are of 16 bits, as blocks of threads hand them on.
// @judged attention_backward f32: plain masked=zero; fail gradient; AttributesAreComputedAsDefined; dsinks; domain
// dsinks
GRADIENT_BUG(mutant_attention_backward_dsinks_added_in_sixteen_bits, void, add_sink(std::size_t g, Real& sum) const) {
  for (std::size_t i = g * head.queries; i < (g + 1) * head.queries; ++i) {
    sum = rounded_to_bf16(static_cast<float>(sum + this->sink_term(i)));
  }
}

// The gradient by a sink has its sign lost: p_sink delta in place of -p_sink delta.
// @judged attention_backward f32: plain masked=zero; fail gradient; AttributesAreComputedAsDefined; dsinks; domain
// dsinks
GRADIENT_BUG(mutant_attention_backward_dsinks_negated, Real, sink_term(std::size_t i) const) {
  return this->sink_probability(i) * this->delta(i);
}

// A query that sees no key is counted with the previous query's delta: the kernel leaves the row before it computes
// delta, and the row's p_sink is 1.
// @judged attention_backward f32: plain masked=zero; fail gradient; AttributesAreComputedAsDefined; dsinks; domain
// dsinks window
GRADIENT_BUG(mutant_attention_backward_dsinks_of_blind_queries, Real, sink_term(std::size_t i) const) {
  bool any = false;
  for (std::size_t j = 0; j < head.items; ++j) any = any || this->sees(i, j);
  return -(this->sink_probability(i) * this->delta(!any && i > 0 ? i - 1 : i));
}

// The gradient by a sink is summed over the queries of the first head of its group, as kernels do that launch a block
// for each key head.
// @judged attention_backward f32: plain masked=zero; fail gradient; AttributesAreComputedAsDefined; dsinks; domain
// dsinks
GRADIENT_BUG(mutant_attention_backward_dsinks_of_the_groups_first_head, void, add_sink(std::size_t, Real& sum) const) {
  Gradients<Real>::add_sink(0, sum);
}

// The gradient by a sink is not summed over the batch: each batch writes its own over the one before.
// @judged attention_backward f32: plain masked=zero; fail gradient; AttributesAreComputedAsDefined; dsinks; domain
// dsinks
GRADIENT_BUG(mutant_attention_backward_dsinks_of_the_last_batch, void, add_sink(std::size_t g, Real& sum) const) {
  sum = 0;
  Gradients<Real>::add_sink(g, sum);
}

// In the gradient by the sink only, the sink is scaled like a score before its exponential is taken.
// @judged attention_backward f32: plain masked=zero; fail gradient; AttributesAreComputedAsDefined; dsinks; domain
// dsinks
GRADIENT_BUG(mutant_attention_backward_dsinks_scaled, Real, sink_probability(std::size_t i) const) {
  return std::exp(head.rows[i].scale * *head.rows[i].sink - head.saved_lse[i]);
}

// The gradient by a sink is minus the sum of p_sink: delta is left out, which a loss that is the sum of outputs of 1
// hides.
// @judged attention_backward f32: plain masked=zero; fail gradient; AttributesAreComputedAsDefined; dsinks; domain
// dsinks
GRADIENT_BUG(mutant_attention_backward_dsinks_without_delta, Real, sink_term(std::size_t i) const) {
  return -this->sink_probability(i);
}

// The gradient by a sink is 0, as the backward pass ignores the sink (NVIDIA/TransformerEngine 3551).
// @judged attention_backward f32: plain masked=zero; fail gradient; AttributesAreComputedAsDefined; dsinks; domain
// dsinks
GRADIENT_BUG(mutant_attention_backward_dsinks_zero, Real, sink_term(std::size_t) const) { return 0; }
