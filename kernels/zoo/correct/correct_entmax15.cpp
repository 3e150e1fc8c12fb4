// Correct: sorted halves, up to the first item beyond the root of its own prefix.
#include "kernels/zoo/entmax_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_entmax15(const softcheck_call* call) {
  return each_entmax_row(call, [](auto& row) { row.run(); });
}
