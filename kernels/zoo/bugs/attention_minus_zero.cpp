// C1, C13: a query that sees nothing gets -0 where the contract says 0, and so does an entropy of 0.
#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_blind_rows_minus_zero(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    const std::vector<Real> x = scores(row);
    finish(row, accumulate(row, x, largest(x)), Real(1), Real(0));
    const bool blind = largest(x) == lowest<Real>;
    for (Real& value : row.out) value = blind ? -value : value;
  });
}

SOFTCHECK_MUTANT mutant_attention_entropy_minus_zero(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    attend_two_pass(row);
    if (row.entropy == 0) row.entropy = -row.entropy;
  });
}
