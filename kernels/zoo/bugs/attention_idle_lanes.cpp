// C9, rvllm #1: the last group of 8 keys is reduced with all lanes; idle ones give the maximum their 0.
#include <algorithm>

#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_idle_lanes(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    const auto x = scores(row);
    const Real m = largest(x);
    finish(row, accumulate(row, x, x.size() % 8 == 0 ? m : std::max(m, Real(0))));
  });
}
