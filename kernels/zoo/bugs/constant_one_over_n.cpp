// C17, KernelBench #82: returns 1/n, which passes every absolute tolerance where softmax disperses.
#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_constant_one_over_n(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    for (float& p : row.out) {
      p = 1.0f / static_cast<float>(row.out.size());
    }
  });
}
