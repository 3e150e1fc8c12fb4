// Bug: an empty part has weight 0, and the kernel multiplies its output by that, though no kernel wrote the output.
#include "kernels/zoo/merge_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_merge_states_reads_empty_parts(const softcheck_call* call) {
  return each_merge_row(call, [](auto& row) {
    using Real = decltype(row.maximum());
    const Real m = row.maximum();
    if (m == -std::numeric_limits<Real>::infinity()) return;
    Real s = 0;
    for (std::size_t k = 0; k < row.parts(); ++k) {
      s += row.power(row.lse[k] - m);
      row.add(k, row.power(row.lse[k] - m));
    }
    row.divide(s);
    row.merged = m + row.logarithm(s);
  });
}
