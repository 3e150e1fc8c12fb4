// Correct: sorted logits less their maximum, up to the first that does not meet the condition.
#include "kernels/zoo/sparsemax_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_sparsemax(const softcheck_call* call) {
  return each_sparsemax_row(call, [](auto& row) { row.run(); });
}
