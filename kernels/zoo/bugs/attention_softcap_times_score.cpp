// FlashAttention PR 2402: s tanh(s / softcap).
#include "kernels/zoo/attention_attributed.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_softcap_times_score(const softcheck_call* call) {
  return attend_by_scores(call, []<class Real>(const AttributedRow<Real>& row, std::size_t j) {
    const Real x = score<Real>(row, j);
    if (row.visible[j] == 0 || row.softcap == 0) return attributed_score(row, j);
    return x * std::tanh(x / row.softcap) + shift(row, j);
  });
}
