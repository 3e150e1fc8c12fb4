// C17, KernelBench #82: returns zeros.
#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_returns_zeros(const softcheck_call* call) {
  return each_row(call, [](Row& row) { row.out.assign(row.out.size(), 0.0f); });
}
