// Bug: the merged log-sum-exp is the largest.
#include "kernels/zoo/merge_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_merge_states_lse_is_maximum(const softcheck_call* call) {
  return each_merge_row(call, [](auto& row) {
    row.merge();
    row.merged = row.maximum();
  });
}
