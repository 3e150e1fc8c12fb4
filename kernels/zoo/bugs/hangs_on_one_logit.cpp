// C14: never returns for n = 1, as loops with a step of n / 2 do.
#include <cstddef>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_hangs_on_one_logit(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    const std::size_t step = row.logits.size() / 2;
    volatile std::size_t at = 0;
    while (at + 1 < row.logits.size() + 1 && row.logits.size() == 1) {
      at = at + step;
    }
    softmax(row);
  });
}
