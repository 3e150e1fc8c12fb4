// C12, the class of torch-xpu-ops #5022: a NaN in a row from the 512th on counts as -inf.
#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_nan_beyond_row_512(const softcheck_call* call) {
  return each_numbered_row(call, [](const Matrices& from, std::int64_t number, auto& row) {
    lose_nans(row, [&](std::int64_t /*i*/) { return number >= 512; });
    softmax_or_logsumexp(from, row);
  });
}
