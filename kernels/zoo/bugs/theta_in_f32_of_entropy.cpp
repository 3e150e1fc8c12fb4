// C10, C13: the entropy of an f64 row at a temperature that was a float.
#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_theta_in_f32_of_entropy(const softcheck_call* call) {
  return each_row(call, [](auto& row) {
    row.theta = static_cast<float>(row.theta);
    row.out[0] = entropy_or(row, [](const auto& finite) { return entropy_of(sums_of(finite)); });
  });
}
