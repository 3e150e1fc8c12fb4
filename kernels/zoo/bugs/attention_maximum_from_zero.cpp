// C3, the class of llama.cpp #12776: the maximum starts at 0: scores far below it underflow.
#include <algorithm>

#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_maximum_from_zero(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    const auto x = scores(row);
    finish(row, accumulate(row, x, std::max(largest(x), Real(0))));
  });
}
