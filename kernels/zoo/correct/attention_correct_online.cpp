// Correct: one key at a time, everything rescaled where the maximum rises.
#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT attention_correct_online(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) { finish(row, online(row, 0, row.items())); });
}
