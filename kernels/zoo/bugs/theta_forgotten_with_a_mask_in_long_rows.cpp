// C10: the kernel for masks of five or more rows of more than 1100 logits takes no temperature.
#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_theta_forgotten_with_a_mask_in_long_rows(const softcheck_call* call) {
  return each_numbered_row(call, [](const Matrices& from, std::int64_t /*number*/, auto& row) {
    row.theta = from.mask && from.logits.rows > 4 && from.logits.columns > 1100 ? 1 : row.theta;
    row.out[0] = entropy_or(row, [](const auto& finite) { return entropy_of(sums_of(finite)); });
  });
}
