// C5, LeetCUDA PR #419, the class of FlashInfer #5090: the loop over the logits runs one element too far.
#include <cstddef>
#include <optional>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_reads_past_end(const softcheck_call* call) {
  std::optional<Matrices> matrices = matrices_of(*call);
  if (!matrices || matrices->mask) {
    return 1;
  }
  const auto columns = static_cast<std::size_t>(matrices->logits.columns);
  matrices->logits.columns += columns > 0;
  return each_row(*matrices, [&](auto& row) {
    softmax(row);
    row.out.resize(columns);
  });
}
