// C10, C11: the temperature of an f64 kernel is a float, as in many a C interface.
#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_theta_in_f32(const softcheck_call* call) {
  return each_numbered_row(call, [](const Matrices& from, std::int64_t /*number*/, auto& row) {
    row.theta = static_cast<float>(row.theta);
    softmax_or_logsumexp(from, row);
  });
}
