// C5, the class of PyTorch #147284: columns of V beyond a multiple of 4 are never written.
#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_value_tail(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    const auto before = row.out;
    attend_two_pass(row);
    for (std::size_t c = row.out.size() / 4 * 4; c < row.out.size(); ++c) row.out[c] = before[c];
  });
}
