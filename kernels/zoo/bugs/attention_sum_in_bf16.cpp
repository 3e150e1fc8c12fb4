// C11, ik_llama #1196: S is kept in bf16, where 256 + 1 = 256.
#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_sum_in_bf16(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    const auto x = scores(row);
    finish(row, accumulate(row, x, largest(x), Real(1),
                           [](State<Real>& s) { s.weights = rounded_to_bf16(static_cast<float>(s.weights)); }));
  });
}
