// C17, KernelBench PR #82: the logits are cleared, so that a reference computed afterwards agrees with the zeros
// returned.
#include <cstdint>
#include <optional>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_zeroes_the_input(const softcheck_call* call) {
  std::optional<Matrices> matrices = matrices_of(*call);
  if (!matrices) {
    return 1;
  }
  Matrices into_the_input = *matrices;
  into_the_input.out = matrices->logits;
  std::int64_t r = 0;
  return each_row(*matrices, [&](auto& row) {
    row.out.assign(row.out.size(), 0);
    scatter(into_the_input, r++, row);
  });
}
