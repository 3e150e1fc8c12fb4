// C17, KernelBench #82: zeros.
#include <algorithm>

#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_returns_zeros(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    std::fill(row.out.begin(), row.out.end(), Real(0));
    row.lse = row.entropy = 0;
  });
}
