// Correct: all parts at once, divided at the end.
#include "kernels/zoo/merge_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_merge_states(const softcheck_call* call) {
  return each_merge_row(call, [](auto& row) { row.merge(); });
}
