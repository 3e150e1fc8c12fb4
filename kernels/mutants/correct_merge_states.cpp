// Correct: all parts at once, divided at the end.
#include "kernels/mutants/merge_rows.hpp"

using namespace softcheck::kernels::mutants;

SOFTCHECK_MUTANT correct_merge_states(const softcheck_call* call) {
  return each_merge_row(call, [](auto& row) { row.merge(); });
}
