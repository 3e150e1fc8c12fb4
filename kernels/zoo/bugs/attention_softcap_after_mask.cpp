// Softcap after the mask: a masked score of -inf becomes -softcap, and is seen.
#include "kernels/zoo/attention_attributed.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_softcap_after_mask(const softcheck_call* call) {
  return attend_by_scores(call, []<class Real>(const AttributedRow<Real>& row, std::size_t j) {
    if (row.visible[j] != 0 || row.softcap == 0) return attributed_score(row, j);
    return capped(lowest<Real>, row.softcap) + shift(row, j);
  });
}
