// C6, the class of Paddle #43107: 12 bits for the number of a row; row 4096 is row 0 again.
#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_row_index_in_12_bits(const softcheck_call* call) {
  return each_numbered_row(call, []<class Real>(const Matrices& from, std::int64_t number, RowOf<Real>& row) {
    row = gather<Real>(from, number % 4096);
    softmax_or_logsumexp(from, row);
  });
}
