// Bugs of attention: precision of intermediate results.
#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

// C11, llama.cpp #28124: O is accumulated in f16, although the caller set f32.
// @judged attention f32 f16: plain entropy=exact; fail C11; output
BUG(mutant_attention_output_in_f16, attend) {
  const auto x = scores(row);
  finish(row, accumulate(row, x, largest(x), Real(1), [](State<Real>& s) {
           for (Real& value : s.values) value = rounded_to_f16(static_cast<float>(value));
         }));
}

// C11, the class of openvino #23608: scores are stored in bf16 between the two products.
// @judged attention f32 bf16: plain entropy=exact; fail C11
BUG(mutant_attention_scores_in_bf16, attend_changed_scores) {
  for (Real& value : x) value = rounded_to_bf16(static_cast<float>(value));
}

// C11, ik_llama #1196: S is kept in bf16, where 256 + 1 = 256.
// @judged attention bf16 f32: plain entropy=exact; fail C11
BUG(mutant_attention_sum_in_bf16, attend) {
  const auto x = scores(row);
  finish(row, accumulate(row, x, largest(x), Real(1),
                         [](State<Real>& s) { s.weights = rounded_to_bf16(static_cast<float>(s.weights)); }));
}
