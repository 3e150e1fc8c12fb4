// Correct where masks hide no NaN (nan=visible): the mask is added to the scores, as eager attention does, and a NaN
// less infinity is NaN.
#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT attention_correct_mask_added(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    Row<Real> shown = row;
    std::ranges::fill(shown.visible, 1);
    auto x = scores(shown);
    for (std::size_t j = 0; j < row.items(); ++j) x[j] += row.visible[j] != 0 ? Real(0) : lowest<Real>;
    finish(row, accumulate(row, x, largest(x)));
  });
}
