// Correct, FlashAttention-2: under causality slope j in place of - slope |p - j|, the same but for the log-sum-exp,
// which it has not.
#include "kernels/zoo/attention_attributed.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT attention_correct_alibi_from_key_0(const softcheck_call* call) {
  if (call->n_outputs > 1) return 1;
  const bool causal = call->causal != 0;
  return attend_by_scores(call, [causal]<class Real>(const AttributedRow<Real>& row, std::size_t j) {
    if (!causal || row.sink || row.visible[j] == 0) return attributed_score(row, j);
    const Real placed = capped(score<Real>(row, j), row.softcap) + row.slope * static_cast<Real>(j);
    return row.bias.empty() ? placed : placed + row.bias[j];
  });
}
