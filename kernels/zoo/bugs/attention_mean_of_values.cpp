// C17, KernelBench #82: the mean of V, which an absolute tolerance takes for attention where softmax disperses.
#include <algorithm>

#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_mean_of_values(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    std::fill(row.query.begin(), row.query.end(), Real(0));
    attend_two_pass(row);
  });
}
