// C10: logsumexp divides the finished logarithm by theta: (ln sum exp x) / theta.
#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_theta_after_the_log(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    row.out[0] = logsumexp_or(row, [](Row untempered) {
      const float theta = static_cast<float>(untempered.theta);
      untempered.theta = 1;
      return logsumexp_of(untempered, sums_of(untempered)) / theta;
    });
  });
}
