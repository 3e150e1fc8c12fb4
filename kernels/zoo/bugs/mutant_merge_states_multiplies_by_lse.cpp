// Bug: outputs are weighted by their log-sum-exps.
#include "kernels/zoo/merge_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_merge_states_multiplies_by_lse(const softcheck_call* call) {
  return each_merge_row(call, [](auto& row) {
    row.merge();
    std::fill(row.out.begin(), row.out.end(), 0);
    decltype(row.maximum()) s = 0;
    for (std::size_t k = 0; k < row.parts(); ++k) {
      if (row.is_empty(k)) continue;
      row.add(k, row.lse[k]);
      s += row.lse[k];
    }
    if (s != 0) row.divide(s);
  });
}
