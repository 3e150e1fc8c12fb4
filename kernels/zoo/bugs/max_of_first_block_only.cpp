// C9, warp-ctc PR #30: the maximum is taken over the first 64 logits only, as many as there are threads;
// a late peak overflows.
#include <algorithm>
#include <cstddef>
#include <vector>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_max_of_first_block_only(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    const auto head = static_cast<std::ptrdiff_t>(std::min<std::size_t>(row.logits.size(), 64));
    const Real m = maximum(std::vector<Real>(row.logits.begin(), row.logits.begin() + head));
    divide(row.out, weights(row, m, row.out));
  });
}
