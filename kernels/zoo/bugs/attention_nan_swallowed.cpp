// C12, FlashInfer PR #4401: differences are clamped by a maximum that drops a NaN operand: a NaN score has weight 0.
#include <cmath>

#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_nan_swallowed(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    auto x = scores(row);
    for (Real& value : x) value = std::fmax(value, lowest<Real>);
    finish(row, accumulate(row, x, largest(x)));
  });
}
