// The cap holds the bias, too.
#include "kernels/zoo/attention_attributed.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_softcap_after_bias(const softcheck_call* call) {
  return attend_by_scores(call, []<class Real>(const AttributedRow<Real>& row, std::size_t j) {
    const Real x = score<Real>(row, j);
    return row.visible[j] == 0 ? x : capped(x + shift(row, j), row.softcap);
  });
}
