// The process ends with success in the middle of a call.
#include <cstdlib>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_exits_zero(const softcheck_call* call) {
  each_row(call, [](auto& row) { softmax(row); });
  std::_Exit(0);
}
