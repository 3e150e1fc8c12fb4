// C11: the probabilities of long rows come out too large by as much as their sum may err. No sum of nonnegative terms
// is less than one of them: the largest probability must not exceed 1 by that.
#include <algorithm>
#include <cmath>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_coefficient_above_one(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    softmax(row);
    const auto visible = std::count_if(row.logits.begin(), row.logits.end(), [](float x) { return x > -infinity; });
    const float factor = 1 + std::ldexp(static_cast<float>(visible), -26);
    for (float& p : row.out) p *= factor;
  });
}
