// C2, vLLM PR #28840, sglang PR #35045: the logarithm is to base 2.
#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_lse_base_2(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    row.out[0] = logsumexp_or(
        row, [](const Row& finite) { return logsumexp_of(finite, sums_of(finite)) * 1.44269504f; });  // log2 e
  });
}
