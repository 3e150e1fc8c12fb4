// Correct: the sum runs from the last logit to the first.
#include <cstddef>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_reversed(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    weights(row, maximum(row.logits), row.out);
    Real sum = 0;
    for (std::size_t i = row.out.size(); i-- > 0;) {
      sum += row.out[i];
    }
    divide(row.out, sum);
  });
}
