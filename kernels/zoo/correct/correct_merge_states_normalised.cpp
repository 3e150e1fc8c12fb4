// Correct: weights that add up to 1, then the sum.
#include "kernels/zoo/merge_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_merge_states_normalised(const softcheck_call* call) {
  return each_merge_row(call, [](auto& row) {
    using Real = decltype(row.maximum());
    const Real m = row.maximum();
    Real s = 0;
    for (std::size_t k = 0; k < row.parts(); ++k) s += row.is_empty(k) ? 0 : row.power(row.lse[k] - m);
    if (s == 0) return;
    for (std::size_t k = 0; k < row.parts(); ++k) {
      if (!row.is_empty(k)) row.add(k, row.power(row.lse[k] - m) / s);
    }
    row.merged = m + row.logarithm(s);
  });
}
