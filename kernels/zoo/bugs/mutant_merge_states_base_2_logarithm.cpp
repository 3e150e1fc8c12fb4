// Bug: in base 2 the merged log-sum-exp is a natural one.
#include "kernels/zoo/merge_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_merge_states_base_2_logarithm(const softcheck_call* call) {
  return each_merge_row(call, [](auto& row) {
    row.merge();
    if (row.base_2)
      row.merged =
          row.maximum() + (row.merged - row.maximum()) * static_cast<decltype(row.maximum())>(0.693147180559945309);
  });
}
