// C10, C11, the class of metal-flash-attention #8: temperatures that f16 may hold are passed in f16.
#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_theta_in_f16(const softcheck_call* call) {
  return each_numbered_row(call, [](const Matrices& from, std::int64_t /*number*/, auto& row) {
    if (row.theta > 1e-4 && row.theta < 6e4) {
      row.theta = rounded_to_f16(static_cast<float>(row.theta));
    }
    softmax_or_logsumexp(from, row);
  });
}
