// CUTLASS 2336: causality always aligns the last query with the last key.
#include "kernels/zoo/attention_attributed.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_alignment_ignored(const softcheck_call* call) {
  return attend_changed(call, [](AttributedCall& a) { a.plain.diagonal = a.plain.keys - a.plain.q.shape[2]; });
}
