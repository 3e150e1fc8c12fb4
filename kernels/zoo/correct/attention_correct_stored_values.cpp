// Correct under contract values=bf16: the sums of weighted values are bf16's, S is not.
#include <cmath>

#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

namespace {

template <class Real>
void attend_with_stored_values(Row<Real>& row, bool weighs_in_bf16) {
  const auto x = scores(row);
  const Real m = largest(x);
  State<Real> s = accumulate(row, x, m);
  s.values.assign(row.out.size(), 0);
  for (std::size_t j = 0; j < x.size(); ++j) {
    if (x[j] == lowest<Real>) continue;
    Real w = std::exp(x[j] - m);
    if (weighs_in_bf16) w = rounded_to_bf16(static_cast<float>(w) * 1.02F);
    for (std::size_t c = 0; c < s.values.size(); ++c) {
      s.values[c] = rounded_to_bf16(static_cast<float>(s.values[c] + w * row.values[j * s.values.size() + c]));
    }
  }
  finish(row, s);
}

}  // namespace

SOFTCHECK_MUTANT attention_correct_stored_values(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) { attend_with_stored_values(row, false); });
}

// C11: and the weights that meet the values are two hundredths too large.
SOFTCHECK_MUTANT mutant_attention_stored_values_too_large(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) { attend_with_stored_values(row, true); });
}
