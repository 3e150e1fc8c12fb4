// C2, C13: T is multiplied by a where a (T + d S) is right.
#include <cmath>

#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_merge_forgets_deviations(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    State<Real> left = online(row, 0, row.items() / 2);
    State<Real> right = online(row, row.items() / 2, row.items());
    if (left.weights != 0 && right.weights != 0) {
      State<Real>& lower = left.maximum < right.maximum ? left : right;
      lower.deviations -= std::fabs(left.maximum - right.maximum) * lower.weights;  // merged() adds it
    }
    finish(row, merged(left, right));
  });
}
