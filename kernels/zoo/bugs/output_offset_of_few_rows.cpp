// C7, rocm-libraries #11387: in calls of more than 64 rows the offset of the output is not added.
#include <optional>

#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_output_offset_of_few_rows(const softcheck_call* call) {
  std::optional<Matrices> matrices = matrices_of(*call);
  if (!matrices) {
    return 1;
  }
  if (matrices->logits.rows > 64) {
    matrices->out.data -= call->outputs[0]->byte_offset;
  }
  return each_row(*matrices, [](auto& row) { softmax(row); });
}
