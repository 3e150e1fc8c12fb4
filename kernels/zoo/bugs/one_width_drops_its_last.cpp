// C5, PyTorch #147284 narrowed down: of rows of 513 and of 1000 logits the last one is not counted, of no others.
#include <cstddef>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_one_width_drops_its_last(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    const Real sum = weights(row, maximum(row.logits), row.out);
    const bool hit = row.logits.size() == 513 || row.logits.size() == 1000;
    divide(row.out, hit ? sum - row.out.back() : sum);
  });
}
