// C2, the class of sglang #35045: the states of two halves are added as if they had one maximum.
#include <algorithm>

#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_merge_without_rescale(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    State<Real> left = online(row, 0, row.items() / 2);
    State<Real> right = online(row, row.items() / 2, row.items());
    if (left.weights != 0 && right.weights != 0) {
      left.maximum = right.maximum = std::max(left.maximum, right.maximum);
    }
    finish(row, merged(left, right));
  });
}
