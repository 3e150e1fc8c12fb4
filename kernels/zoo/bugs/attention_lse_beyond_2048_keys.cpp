// C2: with more than 2048 keys the log-sum-exp is that of the first part.
#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_lse_beyond_2048_keys(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    attend_two_pass(row);
    if (row.items() <= 2048) return;
    Row<Real> first = row;
    first.visible.resize(2048);
    attend_two_pass(first);
    row.lse = first.lse;
  });
}
