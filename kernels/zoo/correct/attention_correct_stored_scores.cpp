// Correct under contract scores=bf16: the scores are stored in bf16 between the two products.
#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT attention_correct_stored_scores(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    auto x = scores(row);
    for (Real& value : x) value = rounded_to_bf16(static_cast<float>(value));
    finish(row, accumulate(row, x, largest(x)));
  });
}

// C11: multiples of 1/8 instead of bf16's numbers.
SOFTCHECK_MUTANT mutant_attention_scores_in_eighths(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    auto x = scores(row);
    for (Real& value : x) value = std::nearbyint(value * 8) / 8;
    finish(row, accumulate(row, x, largest(x)));
  });
}
