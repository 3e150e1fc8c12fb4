// Bugs in the gradients of attention of its bias.
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

// The sum over heads that share a bias is stored in 16 bits.
// @judged attention_backward f32: plain masked=zero; fail gradient; AttributesAreComputedAsDefined; dbias; domain dbias
GRADIENT_BUG(mutant_attention_backward_dbias_added_in_sixteen_bits, void, add_bias(std::size_t i, Real* sums) const) {
  const Real own_delta = this->delta(i);
  for (std::size_t j = 0; j < head.items; ++j) {
    if (!this->sees(i, j)) continue;
    const Real term = this->bias_term(i, j, this->probability(i, j), own_delta);
    sums[j] = rounded_to_bf16(static_cast<float>(sums[j] + term));
  }
}

// The gradient by the bias has its sign lost.
// @judged attention_backward f32: plain masked=zero; fail gradient; AttributesAreComputedAsDefined; dbias; domain dbias
GRADIENT_BUG(mutant_attention_backward_dbias_negated, Real,
             bias_term(std::size_t i, std::size_t j, Real p, Real own_delta) const) {
  return p * (own_delta - this->product(i, j));
}

// Keys that the mask hides get a gradient by the bias, too: p is not masked again.
// @judged attention_backward f32: plain masked=zero; fail gradient; AKeyBesideTheWindowIsNotThere; kernel.masked_row;
// domain dbias window
GRADIENT_BUG(mutant_attention_backward_dbias_of_hidden_keys, void, add_bias(std::size_t i, Real* sums) const) {
  bool any = false;
  for (std::size_t j = 0; j < head.items; ++j) any = any || this->sees(i, j);
  const Real own_delta = this->delta(i);
  for (std::size_t j = 0; j < head.items && any; ++j) {
    sums[j] += this->bias_term(i, j, this->probability(i, j), own_delta);
  }
}

// Every batch writes its gradient by the bias to the place of the first one: the address leaves the batch out, and the
// last one stays. The places of other batches keep the previous contents of their memory.
// @judged attention_backward f32: plain masked=zero; fail gradient; AttributesAreComputedAsDefined; dbias; domain dbias
BUG(mutant_attention_backward_dbias_of_the_last_batch, gradients_of_changed_call) {
  if (a.dbias) a.dbias->strides[0] = 0;
}

// A bias that heads share gets the gradient of the last head: each head stores its own instead of adding it (the class
// of flash-sparse-attention 199).
// @judged attention_backward f32: plain masked=zero; fail gradient; AttributesAreComputedAsDefined; dbias; domain dbias
GRADIENT_BUG(mutant_attention_backward_dbias_of_the_last_head, void, add_bias(std::size_t i, Real* sums) const) {
  const Real own_delta = this->delta(i);
  for (std::size_t j = 0; j < head.items; ++j) {
    sums[j] = this->sees(i, j) ? this->bias_term(i, j, this->probability(i, j), own_delta) : 0;
  }
}

// The gradient by the bias is p: the softmax, not its gradient.
// @judged attention_backward f32: plain masked=zero; fail gradient; AttributesAreComputedAsDefined; dbias; domain dbias
GRADIENT_BUG(mutant_attention_backward_dbias_of_the_saved_softmax, Real,
             bias_term(std::size_t, std::size_t, Real p, Real) const) {
  return p;
}

// The gradient by the bias is multiplied by the softcap's slope, although the bias is added after the softcap.
// @judged attention_backward f32: plain masked=zero; fail gradient; AttributesAreComputedAsDefined; dbias; domain dbias
// softcap
GRADIENT_BUG(mutant_attention_backward_dbias_through_the_cap, Real,
             bias_term(std::size_t i, std::size_t j, Real p, Real own_delta) const) {
  return this->score_gradient(i, j, p, own_delta);
}

// The gradient by the bias is p g: delta is not subtracted.
// @judged attention_backward f32: plain masked=zero; fail gradient; AttributesAreComputedAsDefined; dbias; domain dbias
GRADIENT_BUG(mutant_attention_backward_dbias_without_delta, Real,
             bias_term(std::size_t i, std::size_t j, Real p, Real) const) {
  return p * this->product(i, j);
}
