// C10, gemma.cpp PR #981: the last row's result is kept and given again for equal logits, whatever theta is by then.
#include <vector>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_results_kept_for_same_logits(const softcheck_call* call) {
  static std::vector<float> last_logits, last_result;
  return each_row(call, [](Row& row) {
    if (row.logits == last_logits) {
      row.out = last_result;
      return;
    }
    softmax(row);
    last_logits = row.logits;
    last_result = row.out;
  });
}
