// Bug: a part whose log-sum-exp is NaN counts as empty.
#include "kernels/zoo/merge_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_merge_states_nan_is_empty(const softcheck_call* call) {
  return each_merge_row(call, [](auto& row) {
    using Real = decltype(row.maximum());
    for (Real& lse : row.lse) lse = std::isnan(lse) ? -std::numeric_limits<Real>::infinity() : lse;
    row.merge();
  });
}
