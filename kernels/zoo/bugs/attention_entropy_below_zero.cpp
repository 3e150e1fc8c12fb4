// C13: an entropy that is too small by a part of what the sum of a long row may err, and so negative for a sharp query.
#include <algorithm>
#include <cmath>

#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_entropy_below_zero(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    attend_two_pass(row);
    const auto visible = std::count_if(row.visible.begin(), row.visible.end(), [](auto seen) { return seen != 0; });
    row.entropy -= static_cast<Real>(std::ldexp(static_cast<double>(visible), -26));
  });
}
