// C5, JAX #27224: keys are padded to a multiple of 4, a pad scores 0 and its value is 0.
#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_pads_scored_zero(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    auto x = scores(row);
    x.resize((x.size() + 3) / 4 * 4, Real(0));
    row.values.resize(x.size() * row.out.size(), Real(0));
    finish(row, accumulate(row, x, largest(x)));
  });
}
