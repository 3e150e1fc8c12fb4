// Bug: where all parts are empty, -inf is subtracted from -inf.
#include "kernels/zoo/merge_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_merge_states_all_empty_is_nan(const softcheck_call* call) {
  return each_merge_row(call, [](auto& row) {
    using Real = decltype(row.maximum());
    row.merge();
    if (row.maximum() == -std::numeric_limits<Real>::infinity()) {
      std::fill(row.out.begin(), row.out.end(), std::numeric_limits<Real>::quiet_NaN());
      row.merged = std::numeric_limits<Real>::quiet_NaN();
    }
  });
}
