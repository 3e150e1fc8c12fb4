// Correct: adaptive temperature by the exact entropy, entropy=exact; computed in double, which is better than sum=tree.
#include <algorithm>
#include <vector>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_adaptive(const softcheck_call* call) {
  return call->theta != 1 ? 1 : each_row(call, [](auto& row) {
    RowOf<double> wide{{row.logits.begin(), row.logits.end()}, 1, std::vector<double>(row.out.size())};
    adaptive_softmax(wide);
    std::copy(wide.out.begin(), wide.out.end(), row.out.begin());
  });
}
