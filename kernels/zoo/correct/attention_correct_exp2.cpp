// Correct: log2 e is folded into the scale, weights are exp2 of differences; the logarithm is brought back to base e in
// double. A scale with log2 e in it is no power of 2, so that no score is exact: A = 3 says so.
#include <cmath>
#include <numbers>
#include <vector>

#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT attention_correct_exp2(const softcheck_call* call) {
  if (call->n_outputs > 2) return 1;  // no entropy
  return attend(
      call,
      []<class Real>(Row<Real>& row) {
        const std::vector<Real> x = scores(row);  // in units of ln 2
        const Real m = largest(x);
        Real sum = 0;
        std::vector<Real> out(row.out.size());
        for (std::size_t j = 0; j < x.size(); ++j) {
          if (x[j] == lowest<Real>) continue;
          const Real w = std::exp2(x[j] - m);
          sum += w;
          for (std::size_t c = 0; c < out.size(); ++c) out[c] += w * row.values[j * out.size() + c];
        }
        for (std::size_t c = 0; c < out.size(); ++c) row.out[c] = sum == 0 ? not_a_number<Real> : out[c] / sum;
        row.lse =
            sum == 0 ? lowest<Real> : static_cast<Real>(m * std::numbers::ln2 + std::log(static_cast<double>(sum)));
      },
      [](Attention& a) { a.scale *= std::numbers::log2e; });
}
