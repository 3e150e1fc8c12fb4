// Bugs of attention: the wrong axis.
#include <utility>

#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

// C15, the class of CUDA.jl #599: K is read as (batch, length, heads, dim), whatever its strides are.
// @judged attention f16: plain entropy=exact; fail|crash C15
BUG(mutant_attention_heads_for_lengths, attend_changed_call) {
  a.k.strides[1] = a.k.shape[3];
  a.k.strides[2] = a.k.shape[1] * a.k.shape[3];
}

// C15, the class of ONNX Runtime #25402: the mask's axes are swapped, which the shapes allow if there are as many keys
// as queries.
// @judged attention f32: plain entropy=exact; fail C15
BUG(mutant_attention_mask_transposed, attend_changed_call) {
  if (a.mask.shape[2] == a.mask.shape[3]) std::swap(a.mask.strides[2], a.mask.strides[3]);
}
