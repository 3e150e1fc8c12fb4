// C7, the class of DeepSpeed PR #2285: every head takes the mask of head 0.
#include <algorithm>

#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_mask_of_head_zero(const softcheck_call* call) {
  return attend(call, two_pass, [](Attention& a) { std::fill(a.mask_head.begin(), a.mask_head.end(), 0); });
}
