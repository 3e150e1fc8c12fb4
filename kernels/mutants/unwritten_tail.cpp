// C16: the last element of a row is never written.
#include <cstdint>

#include "kernels/mutants/reference_rows.hpp"

using namespace softcheck::kernels::mutants;

SOFTCHECK_MUTANT mutant_unwritten_tail(const softcheck_call* call) {
  if (!accepts(*call)) {
    return 1;
  }
  const StridedFloats in = strided(*call->inputs[0]);
  for (std::int64_t r = 0; r < in.rows; ++r) {
    Row row = gather(*call, r);
    softmax(row);
    if (row.out.size() > 1) {
      row.out.pop_back();
    }
    scatter(*call, r, row);
  }
  return 0;
}
