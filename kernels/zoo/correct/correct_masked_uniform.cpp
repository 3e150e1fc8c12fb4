// Correct under contract masked=uniform: where nothing is visible all items count alike.
#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_masked_uniform(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    if (maximum(row.logits) == -infinity) {
      row.out.assign(row.out.size(), 1 / static_cast<Real>(row.out.size()));
      return;
    }
    softmax(row);
  });
}
