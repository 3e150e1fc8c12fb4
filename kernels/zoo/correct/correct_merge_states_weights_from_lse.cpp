// Correct, but of no contract here: weights e^(L_k - L) from L as a number of the format.
#include "kernels/zoo/merge_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_merge_states_weights_from_lse(const softcheck_call* call) {
  return each_merge_row(call, [](auto& row) {
    row.merge();
    std::fill(row.out.begin(), row.out.end(), 0);
    for (std::size_t k = 0; k < row.parts(); ++k) {
      if (!row.is_empty(k)) row.add(k, row.power(row.lse[k] - row.merged));
    }
  });
}
