// C11, the class of openvino #23608: scores are stored in bf16 between the two products.
#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_scores_in_bf16(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    auto x = scores(row);
    for (Real& value : x) {
      value = rounded_to_bf16(static_cast<float>(value));
    }
    finish(row, accumulate(row, x, largest(x)));
  });
}
