// C17: a row that was seen in the call before is answered from a stale accumulator.
#include <cmath>
#include <cstddef>
#include <vector>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_wrong_on_a_rerun(const softcheck_call* call) {
  static std::vector<float> previous;
  return each_row(call, [](Row& row) {
    softmax(row);
    if (row.logits == previous) {
      for (float& p : row.out) {
        p *= 0.5f;
      }
    }
    previous = row.logits;
  });
}
