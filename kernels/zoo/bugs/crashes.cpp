// C6, PyTorch #191565: an illegal access, here at address 0.
#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_crashes(const softcheck_call* call) {
  const int status = each_row(call, [](auto& row) { softmax(row); });
  static volatile float* volatile nowhere = nullptr;
  *nowhere = 0;
  return status;
}
