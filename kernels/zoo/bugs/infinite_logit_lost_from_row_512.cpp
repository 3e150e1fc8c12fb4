// C12, the class of torch-xpu-ops #5022: +inf in a row from the 512th on counts as 0.
#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_infinite_logit_lost_from_row_512(const softcheck_call* call) {
  return each_numbered_row(call, [](const Matrices& from, std::int64_t number, auto& row) {
    for (auto& x : row.logits) {
      x = number >= 512 && x == infinity ? 0 : x;
    }
    softmax_or_logsumexp(from, row);
  });
}
