// C1, Keras PR #21149: a fully masked row counts as a uniform one: its entropy is ln n.
#include <cmath>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_entropy_of_masked_row_uniform(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    if (!row.logits.empty() && maximum(row.logits) == -infinity) {
      row.out[0] = std::log(static_cast<Real>(row.logits.size()));
      return;
    }
    row.out[0] = entropy_or(row, [](const RowOf<Real>& finite) { return entropy_of(sums_of(finite)); });
  });
}
