// C7, attorch #14: a head is found as stride_head / stride_row rows from the first, rounded down: every head is head 0
// where rows of heads alternate.
#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_head_by_division(const softcheck_call* call) {
  return attend(call, two_pass, [](Attention& a) {
    for (View* t : {&a.q, &a.k, &a.v}) {
      if (t->strides[2] > 0) t->strides[1] = t->strides[1] / t->strides[2] * t->strides[2];
    }
  });
}
