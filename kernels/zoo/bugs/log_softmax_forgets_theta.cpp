// C10: the log of the sum knows theta, the logit does not.
#include <cmath>
#include <cstddef>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_log_softmax_forgets_theta(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    const float m = maximum(row.logits);
    const float log_sum = std::log(weights(row, m, row.out));
    for (std::size_t i = 0; i < row.out.size(); ++i) {
      row.out[i] = row.logits[i] - m - log_sum;
    }
  });
}
