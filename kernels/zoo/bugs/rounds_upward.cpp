// The rounding mode is changed and not put back.
#include <cfenv>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_rounds_upward(const softcheck_call* call) {
  const int status = each_row(call, [](auto& row) { softmax(row); });
  std::fesetround(FE_UPWARD);
  return status;
}
