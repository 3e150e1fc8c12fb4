// Bug: the plain mean of the outputs.
#include "kernels/zoo/merge_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_merge_states_mean(const softcheck_call* call) {
  return each_merge_row(call, [](auto& row) {
    row.merge();
    std::fill(row.out.begin(), row.out.end(), 0);
    decltype(row.maximum()) count = 0;
    for (std::size_t k = 0; k < row.parts(); ++k) {
      if (row.is_empty(k)) continue;
      row.add(k, 1);
      ++count;
    }
    if (count > 0) row.divide(count);
  });
}
