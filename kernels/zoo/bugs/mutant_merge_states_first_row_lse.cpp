// Bug: every row is weighted by the first row's log-sum-exps.
#include "kernels/zoo/merge_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_merge_states_first_row_lse(const softcheck_call* call) {
  return each_merge_row(
      call, [](auto& row) { row.merge(); }, [](std::int64_t) { return 0; });
}
