// Correct, but of no contract here: O - (1 - w) (O - O_k) keeps what the larger of two parts has lost.
#include "kernels/zoo/merge_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_merge_states_interpolated(const softcheck_call* call) {
  return each_merge_row(call, [](auto& row) {
    using Real = decltype(row.maximum());
    for (std::size_t k = 0; k < row.parts(); ++k) {
      if (row.is_empty(k)) continue;
      const Real m = std::isnan(row.lse[k]) || row.lse[k] > row.merged ? row.lse[k] : row.merged;
      const Real before = row.power(row.merged - m), own = row.power(row.lse[k] - m);
      const Real weight = own / (before + own);
      for (std::size_t c = 0; c < row.out.size(); ++c) row.out[c] -= weight * (row.out[c] - row.outputs[k][c]);
      row.merged = m + row.logarithm(before + own);
    }
  });
}
