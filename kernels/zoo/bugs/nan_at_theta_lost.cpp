// C12: at a temperature that f32 does not hold NaN is dropped.
#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_nan_at_theta_lost(const softcheck_call* call) {
  return each_numbered_row(call, [](const Matrices& /*from*/, std::int64_t /*number*/, auto& row) {
    lose_nans(row, [&](std::int64_t /*i*/) { return row.theta != static_cast<float>(row.theta); });
    softmax(row);
  });
}
