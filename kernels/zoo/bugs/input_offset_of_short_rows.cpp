// C7, oneDNN #3501: in rows of more than 1100 logits the offset of the input is not added.
#include <optional>

#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_input_offset_of_short_rows(const softcheck_call* call) {
  std::optional<Matrices> matrices = matrices_of(*call);
  if (!matrices) {
    return 1;
  }
  if (matrices->logits.columns > 1100) {
    matrices->logits.data -= call->inputs[0]->byte_offset;
  }
  return each_row(*matrices, [](auto& row) { log_softmax(row); });
}
