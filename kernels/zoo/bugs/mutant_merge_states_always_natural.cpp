// Bug: the base of the log-sum-exps is not asked for.
#include "kernels/zoo/merge_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_merge_states_always_natural(const softcheck_call* call) {
  return each_merge_row(call, [](auto& row) {
    row.base_2 = false;
    row.merge();
  });
}
