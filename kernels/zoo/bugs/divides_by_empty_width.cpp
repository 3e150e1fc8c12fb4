// C14, PyTorch #17262, rten #307: rows per block are a cache size divided by the width: a width of 0 is a
// floating-point exception. On aarch64 that quotient is 0, so the mutant ends its process itself.
#include <cstdint>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_divides_by_empty_width(const softcheck_call* call) {
  volatile std::int64_t width = call->inputs[0]->shape[1];
  volatile std::int64_t rows_per_block = 32768 / width;
  static_cast<void>(rows_per_block);
  if (width == 0) __builtin_trap();
  return each_row(call, [](auto& row) { softmax(row); });
}
