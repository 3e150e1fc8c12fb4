// Bottom-right and top-left swapped.
#include "kernels/zoo/attention_attributed.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_alignment_swapped(const softcheck_call* call) {
  return attend_changed(
      call, [](AttributedCall& a) { a.plain.diagonal = a.top_left ? a.plain.keys - a.plain.q.shape[2] : 0; });
}
