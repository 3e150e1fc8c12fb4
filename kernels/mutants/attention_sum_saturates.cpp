// C4: the sum is clamped to the largest number of f16.
#include <algorithm>

#include "kernels/mutants/attention_states.hpp"

using namespace softcheck::kernels::mutants::attention;

SOFTCHECK_MUTANT mutant_attention_sum_saturates(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    const auto x = scores(row);
    State<Real> s = accumulate(row, x, largest(x));
    s.weights = std::min(s.weights, Real(65504));
    finish(row, s);
  });
}
