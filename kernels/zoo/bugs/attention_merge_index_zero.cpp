// C2, the class of vLLM #49294: in the merge of four parts every part is weighted by the maximum of part 0.
#include <algorithm>
#include <vector>

#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_merge_index_zero(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    const std::size_t n = row.items();
    std::vector<State<Real>> parts;
    for (std::size_t k = 0; k < 4; ++k) parts.push_back(online(row, k * n / 4, (k + 1) * n / 4));
    State<Real> all = parts[0];
    for (std::size_t k = 1; k < 4; ++k) {
      if (parts[k].weights != 0 && all.weights != 0) parts[k].maximum = parts[0].maximum;
      all = merged(all, parts[k]);
    }
    finish(row, all);
  });
}
