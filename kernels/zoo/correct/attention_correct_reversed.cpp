// Correct: from the last key to the first, online, and multiplied by 1 / S.
#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT attention_correct_reversed(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    State<Real> s(row.out.size());
    for (std::size_t j = row.items(); j-- > 0;) absorb(s, row, j, score(row, j));
    finish(row, s);
    const Real reciprocal = 1 / s.weights;
    for (std::size_t c = 0; c < row.out.size() && s.weights != 0; ++c) row.out[c] = s.values[c] * reciprocal;
  });
}
