// Bug: no more than two parts.
#include "kernels/zoo/merge_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_merge_states_first_two(const softcheck_call* call) {
  return each_merge_row(call, [](auto& row) {
    if (row.parts() > 2) row.lse.resize(2);
    row.merge();
  });
}
