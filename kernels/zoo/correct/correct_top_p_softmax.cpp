// Correct: coefficients from the largest on until those before an item reach top_p; then min_p of the largest one.
#include "kernels/zoo/top_p_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_top_p_softmax(const softcheck_call* call) {
  return each_top_p_row(call, [](auto& row) { row.run(); });
}
