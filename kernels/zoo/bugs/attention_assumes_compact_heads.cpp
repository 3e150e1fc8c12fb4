// C7, FlashAttention PR #2670: the distance of heads is made up from the shape, as if nothing lay between them.
#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_assumes_compact_heads(const softcheck_call* call) {
  return attend(call, two_pass, [](Attention& a) {
    for (View* t : {&a.q, &a.k, &a.v}) t->strides[1] = t->shape[2] * t->shape[3];
  });
}
