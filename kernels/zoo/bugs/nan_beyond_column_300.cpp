// C12, torch-xpu-ops #5022: the first 300 columns are looked at for NaN; behind them one counts as -inf.
#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_nan_beyond_column_300(const softcheck_call* call) {
  return each_numbered_row(call, [](const Matrices& /*from*/, std::int64_t /*number*/, auto& row) {
    lose_nans(row, [](std::int64_t i) { return i >= 300; });
    softmax(row);
  });
}
