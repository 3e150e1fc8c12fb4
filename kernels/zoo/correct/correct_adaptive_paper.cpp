// Correct: adaptive temperature as published, entropy=paper: H = -sum p ln(p + 1e-9); computed in double, which is
// better than sum=tree.
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_adaptive_paper(const softcheck_call* call) {
  return call->theta != 1 ? 1 : each_row(call, [](auto& row) {
    RowOf<double> wide{{row.logits.begin(), row.logits.end()}, 1, std::vector<double>(row.out.size())};
    softmax(wide);
    double entropy = 0;
    for (const double p : wide.out) {
      entropy -= p * std::log(p + 1e-9);
    }
    softmax_sharpened(wide, [entropy](const Sums<double>&) { return beta_of(entropy); });
    std::copy(wide.out.begin(), wide.out.end(), row.out.begin());
  });
}
