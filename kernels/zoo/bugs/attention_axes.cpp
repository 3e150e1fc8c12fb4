// Bugs of attention: the wrong axis.
#include <utility>

#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

// C15, the class of CUDA.jl #599: K is taken as (batch, length, heads, dim), whatever its strides say.
// @judged attention f16: exp=1ulp sum=sequential masked=nan entropy=exact; fail|crash C15;
// EveryValueLiesWithinItsThreshold;
// kernel.attention.output|kernel.attention.lse|kernel.attention.entropy|kernel.returns
SOFTCHECK_MUTANT mutant_attention_heads_for_lengths(const softcheck_call* call) {
  return attend(call, two_pass, [](Attention& a) {
    a.k.strides[1] = a.k.shape[3];
    a.k.strides[2] = a.k.shape[1] * a.k.shape[3];
  });
}

// C15, the class of ONNX Runtime #25402: the mask's axes are swapped, which no shape forbids where there are as many
// keys as queries.
// @judged attention f32: exp=1ulp sum=sequential masked=nan entropy=exact; fail C15; EveryValueLiesWithinItsThreshold;
// kernel.attention.output|kernel.attention.lse|kernel.attention.entropy
SOFTCHECK_MUTANT mutant_attention_mask_transposed(const softcheck_call* call) {
  return attend(call, two_pass, [](Attention& a) {
    if (a.mask.shape[2] == a.mask.shape[3]) std::swap(a.mask.strides[2], a.mask.strides[3]);
  });
}
