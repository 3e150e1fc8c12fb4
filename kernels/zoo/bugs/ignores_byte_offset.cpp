// C7, the class of rocm-libraries #11387: byte_offset does not count.
#include <optional>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_ignores_byte_offset(const softcheck_call* call) {
  std::optional<Matrices> matrices = matrices_of(*call);
  if (!matrices) {
    return 1;
  }
  matrices->logits.data -= call->inputs[0]->byte_offset;
  return each_row(*matrices, [](auto& row) { softmax(row); });
}
