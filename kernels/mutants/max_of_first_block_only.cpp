// C9, Liger #1252: the maximum is taken over the first block of 64 logits only; a late peak overflows.
#include <algorithm>
#include <cstddef>

#include "kernels/mutants/reference_rows.hpp"

using namespace softcheck::kernels::mutants;

SOFTCHECK_MUTANT mutant_max_of_first_block_only(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    const std::size_t head = std::min<std::size_t>(row.logits.size(), 64);
    const float m = maximum({row.logits.begin(), row.logits.begin() + static_cast<std::ptrdiff_t>(head)});
    const float sum = weights(row, m, row.out);
    for (float& p : row.out) {
      p /= sum;
    }
  });
}
