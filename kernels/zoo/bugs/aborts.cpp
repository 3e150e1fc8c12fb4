// An assertion inside the kernel fails.
#include <cstdlib>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_aborts(const softcheck_call* call) {
  each_row(call, [](auto& row) { softmax(row); });
  std::abort();
}
