// C6, the class of llama.cpp #24912: the number of a row is kept in 9 bits; rows from 512 on are computed from the
// first 512 ones.
#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_row_index_in_9_bits(const softcheck_call* call) {
  return each_numbered_row(call, []<class Real>(const Matrices& from, std::int64_t number, RowOf<Real>& row) {
    row = gather<Real>(from, number % 512);
    softmax(row);
  });
}
