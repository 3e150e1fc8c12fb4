// tanh(x) = x - x^3 / 3 below 1/8: an error of 2 x^4 / 15.
#include "kernels/zoo/attention_attributed.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_softcap_tanh_of_degree_three(const softcheck_call* call) {
  return attend_by_scores(call, []<class Real>(const AttributedRow<Real>& row, std::size_t j) {
    const Real x = score<Real>(row, j);
    if (row.visible[j] == 0 || row.softcap == 0) return attributed_score(row, j);
    const Real a = x / row.softcap, small = a - a * a * a / 3;
    return row.softcap * (std::abs(a) < Real(0.125) ? small : std::tanh(a)) + shift(row, j);
  });
}
