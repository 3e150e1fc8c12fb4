// Bug: exponentials of the log-sum-exps themselves.
#include "kernels/zoo/merge_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_merge_states_without_maximum(const softcheck_call* call) {
  return each_merge_row(call, [](auto& row) {
    using Real = decltype(row.maximum());
    Real s = 0;
    for (std::size_t k = 0; k < row.parts(); ++k) {
      if (row.is_empty(k)) continue;
      s += row.power(row.lse[k]);
      row.add(k, row.power(row.lse[k]));
    }
    if (row.maximum() == -std::numeric_limits<Real>::infinity()) return;
    row.divide(s);
    row.merged = row.logarithm(s);
  });
}
