// Correct: as tensor cores want it, weights are rounded to bf16 before they meet the values; their sum is not.
#include <cmath>

#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT attention_correct_narrow_weights(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    const auto x = scores(row);
    const Real m = largest(x);
    State<Real> s = accumulate(row, x, m);
    s.values.assign(row.out.size(), 0);
    for (std::size_t j = 0; j < x.size(); ++j) {
      if (x[j] == lowest<Real>) continue;
      const Real w = rounded_to_bf16(static_cast<float>(std::exp(x[j] - m)));
      for (std::size_t c = 0; c < s.values.size(); ++c) s.values[c] += w * row.values[j * s.values.size() + c];
    }
    finish(row, s);
  });
}
