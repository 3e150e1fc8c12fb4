// Bug: the last part is left out.
#include "kernels/zoo/merge_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_merge_states_forgets_last(const softcheck_call* call) {
  return each_merge_row(call, [](auto& row) {
    if (row.parts() > 1) row.lse.pop_back();
    row.merge();
  });
}
