// Correct adaptive attention, appendix G of "Softmax is not Enough": two passes over the keys, the first streaming
// (m, L, K) with K = sum (x - m) exp(x - m), the second online with beta; nothing is kept but a state.
#include <cmath>

#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

namespace {
template <class Real>
Real streamed_entropy(const Row<Real>& row) {
  Real m = lowest<Real>, sum = 0, centred = 0;
  for (std::size_t j = 0; j < row.items(); ++j) {
    const Real x = score(row, j);
    if (x == lowest<Real>) continue;
    if (x > m) {
      const Real c = std::exp(m - x);
      centred = c == 0 ? 0 : c * (centred + (m - x) * sum);
      sum = c * sum + 1;
      m = x;
    } else {
      const Real w = std::exp(x - m);
      centred += w == 0 ? 0 : (x - m) * w;
      sum += w;
    }
  }
  return std::log(sum) - centred / sum;
}
}  // namespace

SOFTCHECK_MUTANT attention_correct_adaptive_streaming(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    const Real beta = beta_of(streamed_entropy(row));
    finish(row, online(row, 0, row.items(), beta), beta);
  });
}
