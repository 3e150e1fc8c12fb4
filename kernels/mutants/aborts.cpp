// An assertion inside the kernel fails.
#include <cstdlib>

#include "kernels/mutants/reference_rows.hpp"

using namespace softcheck::kernels::mutants;

SOFTCHECK_MUTANT mutant_aborts(const softcheck_call* call) {
  each_row(call, [](auto& row) { softmax(row); });
  std::abort();
}
