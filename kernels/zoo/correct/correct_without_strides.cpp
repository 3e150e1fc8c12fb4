// Correct; logits, masks or results that do not lie one after another are refused.
#include <optional>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

namespace {

bool lies_compact(const View& view) { return view.column_stride == 1 && view.row_stride == view.columns; }

}  // namespace

SOFTCHECK_MUTANT correct_without_strides(const softcheck_call* call) {
  const std::optional<Matrices> matrices = matrices_of(*call);
  const bool served = matrices && lies_compact(matrices->logits) && lies_compact(matrices->out) &&
                      (!matrices->mask || lies_compact(*matrices->mask));
  return served ? each_row(*matrices, [](auto& row) { softmax(row); }) : 1;
}
