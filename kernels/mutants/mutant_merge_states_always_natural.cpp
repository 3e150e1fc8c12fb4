// Bug: the base of the log-sum-exps is not asked for.
#include "kernels/mutants/merge_rows.hpp"

using namespace softcheck::kernels::mutants;

SOFTCHECK_MUTANT mutant_merge_states_always_natural(const softcheck_call* call) {
  return each_merge_row(call, [](auto& row) {
    row.base_2 = false;
    row.merge();
  });
}
