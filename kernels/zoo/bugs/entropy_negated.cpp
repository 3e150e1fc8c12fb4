// C13: sum p ln p, the minus sign is missing.
#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_entropy_negated(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    row.out[0] = entropy_or(row, [](const Row& finite) { return -entropy_of(sums_of(finite)); });
  });
}
