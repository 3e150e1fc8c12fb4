// C16: the last element of a row is never written.
#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_unwritten_tail(const softcheck_call* call) {
  return each_row(call, [](auto& row) {
    softmax(row);
    if (row.out.size() > 1) {
      row.out.pop_back();
    }
  });
}
