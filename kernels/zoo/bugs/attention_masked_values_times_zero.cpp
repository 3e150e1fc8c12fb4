// C5, the class of Wan2GP PR #1628: a masked value is multiplied by weight 0, and 0 NaN is NaN.
#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_masked_values_times_zero(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    const auto x = scores(row);
    const std::size_t size = row.out.size();
    State<Real> s = accumulate(row, x, largest(x));
    for (std::size_t j = 0; j < x.size(); ++j) {
      for (std::size_t c = 0; c < size && row.visible[j] == 0; ++c) s.values[c] += 0 * row.values[j * size + c];
    }
    finish(row, s);
  });
}
