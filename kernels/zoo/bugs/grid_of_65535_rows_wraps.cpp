// C6, the class of PyTorch #103501: a grid of 65,535 blocks, the number of a row is taken modulo that.
#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_grid_of_65535_rows_wraps(const softcheck_call* call) {
  return each_numbered_row(call, []<class Real>(const Matrices& from, std::int64_t number, RowOf<Real>& row) {
    row = gather<Real>(from, number % 65535);
    softmax_or_logsumexp(from, row);
  });
}
