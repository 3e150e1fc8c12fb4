// C11, llama.cpp #28124: O is accumulated in f16 though f32 was asked for.
#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_output_in_f16(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    const auto x = scores(row);
    finish(row, accumulate(row, x, largest(x), Real(1), [](State<Real>& s) {
             for (Real& value : s.values) {
               value = rounded_to_f16(static_cast<float>(value));
             }
           }));
  });
}
