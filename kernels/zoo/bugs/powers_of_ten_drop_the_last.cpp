// C5, PyTorch #147284 narrowed down: of rows of 10,000 or 100,000 logits the last one is not counted, of no others.
#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_powers_of_ten_drop_the_last(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    const Real sum = weights(row, maximum(row.logits), row.out);
    const bool hit = row.logits.size() == 10'000 || row.logits.size() == 100'000;
    divide(row.out, hit ? sum - row.out.back() : sum);
  });
}
