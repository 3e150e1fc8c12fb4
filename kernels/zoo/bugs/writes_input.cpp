// C7, KernelBench PR #82, the class of apex #1587: the exponentials are written over the logits.
#include <cstdint>
#include <optional>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_writes_input(const softcheck_call* call) {
  const std::optional<Matrices> matrices = matrices_of(*call);
  if (!matrices) {
    return 1;
  }
  Matrices into_the_input = *matrices;
  into_the_input.out = matrices->logits;
  std::int64_t r = 0;
  return each_row(*matrices, [&](auto& row) {
    softmax(row);
    scatter(into_the_input, r++, row);
  });
}
