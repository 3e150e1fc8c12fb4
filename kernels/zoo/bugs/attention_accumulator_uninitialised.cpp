// C16, the "104x" softmax that read garbage: O starts from what the output's memory held.
#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_accumulator_uninitialised(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    const auto x = scores(row);
    State<Real> s = accumulate(row, x, largest(x));
    for (std::size_t c = 0; c < row.out.size(); ++c) s.values[c] += row.out[c];
    finish(row, s);
  });
}
