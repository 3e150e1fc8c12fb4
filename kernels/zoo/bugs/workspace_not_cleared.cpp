// C16: the sum lives in a workspace that the first row alone finds cleared.
#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_workspace_not_cleared(const softcheck_call* call) {
  static double sum = 0;
  return each_row(call, [](Row& row) {
    row.out[0] = logsumexp_or(row, [](const Row& finite) {
      Sums<float> sums = sums_of(finite);
      sum += sums.weights;
      sums.weights = static_cast<float>(sum);
      return logsumexp_of(finite, sums);
    });
  });
}
