// C7, apex #1587: the exponentials are written over the logits.
#include <cstddef>
#include <cstdint>

#include "kernels/mutants/reference_rows.hpp"

using namespace softcheck::kernels::mutants;

SOFTCHECK_MUTANT mutant_writes_input(const softcheck_call* call) {
  if (!accepts(*call)) {
    return 1;
  }
  const StridedFloats in = strided(*call->inputs[0]);
  for (std::int64_t r = 0; r < in.rows; ++r) {
    Row row = gather(*call, r);
    softmax(row);
    scatter(*call, r, row);
    for (std::int64_t i = 0; i < in.columns; ++i) {
      in.at(r, i) = row.out[static_cast<std::size_t>(i)];
    }
  }
  return 0;
}
