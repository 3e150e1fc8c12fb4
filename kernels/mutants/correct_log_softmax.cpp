// Correct: x - max - ln S.
#include <cmath>
#include <cstddef>

#include "kernels/mutants/reference_rows.hpp"

using namespace softcheck::kernels::mutants;

SOFTCHECK_MUTANT correct_log_softmax(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    const float m = maximum(row.logits);
    const float log_sum = std::log(weights(row, m, row.out));
    for (std::size_t i = 0; i < row.out.size(); ++i) {
      row.out[i] = static_cast<float>((row.logits[i] - m) / row.theta - log_sum);
    }
  });
}
