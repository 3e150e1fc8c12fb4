// C7, tt-metal #39946: a mask of one head is read as if it had as many as the queries.
#include <numeric>

#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_mask_not_broadcast(const softcheck_call* call) {
  return attend(call, two_pass, [](Attention& a) { std::iota(a.mask_head.begin(), a.mask_head.end(), 0); });
}
