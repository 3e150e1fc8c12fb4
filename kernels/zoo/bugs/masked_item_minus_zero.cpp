// C1: a masked item's probability is -0, as a mask that is multiplied by -1 and by the weight leaves it.
#include <cmath>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_masked_item_minus_zero(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    softmax(row);
    for (std::size_t i = 0; i < row.out.size(); ++i) {
      if (row.logits[i] == -infinity && row.out[i] == 0) row.out[i] = -row.out[i];
    }
  });
}
