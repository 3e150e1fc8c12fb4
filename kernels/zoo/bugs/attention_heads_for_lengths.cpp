// C15, the class of CUDA.jl #599: K is taken as (batch, length, heads, dim), whatever its strides say.
#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_heads_for_lengths(const softcheck_call* call) {
  return attend(call, two_pass, [](Attention& a) {
    a.k.strides[1] = a.k.shape[3];
    a.k.strides[2] = a.k.shape[1] * a.k.shape[3];
  });
}
