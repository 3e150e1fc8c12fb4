// Bug: of an odd number of columns the last is not written.
#include "kernels/zoo/merge_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_merge_states_last_column(const softcheck_call* call) {
  return each_merge_row(call, [](auto& row) {
    row.merge();
    if (row.out.size() % 2 == 1 && row.out.size() > 1) row.out.back() = 0;
  });
}
