// Bug: where all parts are empty, the merged log-sum-exp is 0.
#include "kernels/zoo/merge_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_merge_states_empty_lse_is_zero(const softcheck_call* call) {
  return each_merge_row(call, [](auto& row) {
    using Real = decltype(row.maximum());
    row.merge();
    if (row.maximum() == -std::numeric_limits<Real>::infinity()) row.merged = 0;
  });
}
