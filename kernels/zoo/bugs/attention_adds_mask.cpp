// C5, Wan2GP PR #1628: the mask is added as -inf: a masked key that holds NaN stays NaN.
#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_adds_mask(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    const auto mask = row.visible;
    row.visible.assign(mask.size(), 1);
    auto x = scores(row);
    for (std::size_t j = 0; j < x.size(); ++j) x[j] += mask[j] != 0 ? Real(0) : lowest<Real>;
    finish(row, accumulate(row, x, largest(x)));
  });
}
