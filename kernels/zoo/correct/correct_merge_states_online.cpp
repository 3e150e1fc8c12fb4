// Correct: one part after the other with a running maximum, as a merge of two at a time.
#include "kernels/zoo/merge_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_merge_states_online(const softcheck_call* call) {
  return each_merge_row(call, [](auto& row) {
    using Real = decltype(row.maximum());
    Real m = -std::numeric_limits<Real>::infinity(), s = 0;
    for (std::size_t k = 0; k < row.parts(); ++k) {
      if (row.is_empty(k)) continue;
      const Real larger = std::isnan(row.lse[k]) || row.lse[k] > m ? row.lse[k] : m;
      const Real kept = s == 0 ? 0 : row.power(m - larger);
      for (Real& value : row.out) value *= kept;
      const Real weight = row.power(row.lse[k] - larger);
      s = s * kept + weight;
      m = larger;
      row.add(k, weight);
    }
    if (s == 0) return;
    row.divide(s);
    row.merged = m + row.logarithm(s);
  });
}
