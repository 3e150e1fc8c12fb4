// C13: sum p ln p, the minus sign is missing.
#include "kernels/mutants/reference_rows.hpp"

using namespace softcheck::kernels::mutants;

SOFTCHECK_MUTANT mutant_entropy_negated(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    row.out[0] = entropy_or(row, [](const Row& finite) { return -entropy_of(sums_of(finite)); });
  });
}
