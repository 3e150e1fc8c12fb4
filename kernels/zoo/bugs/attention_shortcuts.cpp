// Bugs of attention: shortcuts that fool weak tests.
#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

// C17, KernelBench #82: the mean of V, which an absolute tolerance takes for attention where softmax disperses.
// @judged attention f32 bf16: exp=1ulp sum=sequential masked=nan entropy=exact; fail C17;
// EveryValueLiesWithinItsThreshold; kernel.attention.output|kernel.attention.lse|kernel.attention.entropy
SOFTCHECK_MUTANT mutant_attention_mean_of_values(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    std::fill(row.query.begin(), row.query.end(), Real(0));
    attend_two_pass(row);
  });
}

// C17, pygpubench #7: every query gets the output of the one before, whatever the call.
// @judged attention f32: exp=1ulp sum=sequential masked=nan entropy=exact; fail C17; EveryValueLiesWithinItsThreshold;
// kernel.attention.output|kernel.attention.lse|kernel.attention.entropy
SOFTCHECK_MUTANT mutant_attention_previous_output(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    static std::vector<Real> previous;
    attend_two_pass(row);
    previous.resize(row.out.size());
    std::swap(previous, row.out);
  });
}

// C17, KernelBench #82: zeros.
// @judged attention f16: exp=1ulp sum=sequential masked=nan entropy=exact; fail C17; EveryValueLiesWithinItsThreshold;
// kernel.attention.output|kernel.attention.lse|kernel.attention.entropy
SOFTCHECK_MUTANT mutant_attention_returns_zeros(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    std::fill(row.out.begin(), row.out.end(), Real(0));
    row.lse = row.entropy = 0;
  });
}
