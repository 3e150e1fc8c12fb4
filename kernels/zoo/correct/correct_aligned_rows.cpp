// Correct where it is meant to be used: compact rows of 16 k logits, 16-byte aligned, at theta = 1, without a mask, as
// a kernel of a library's inner loop is; all else is refused.
#include <cstdint>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

namespace {

bool compact_and_aligned(const View& view) {
  const bool compact = view.column_stride == 1 && view.row_stride == view.columns;
  return compact && view.columns % 16 == 0 && reinterpret_cast<std::uintptr_t>(view.data) % 16 == 0;
}

}  // namespace

SOFTCHECK_MUTANT correct_aligned_rows(const softcheck_call* call) {
  const std::optional<Matrices> matrices = matrices_of(*call);
  const bool served = matrices && !matrices->mask && matrices->theta == 1 && compact_and_aligned(matrices->logits) &&
                      compact_and_aligned(matrices->out);
  return served ? each_row(*matrices, [](auto& row) { softmax(row); }) : 1;
}
