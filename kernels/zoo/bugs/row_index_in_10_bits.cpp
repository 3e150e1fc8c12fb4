// C6, the class of llama.cpp #24912: the number of a row and that of its lane share a word, and 10 bits are left for
// the row.
#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_row_index_in_10_bits(const softcheck_call* call) {
  return each_numbered_row(call, []<class Real>(const Matrices& from, std::int64_t number, RowOf<Real>& row) {
    row = gather<Real>(from, number % 1024);
    log_softmax(row);
  });
}
