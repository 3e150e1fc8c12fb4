// Keys beside the window meet the values with a weight of 0: 0 NaN is NaN.
#include "kernels/zoo/attention_attributed.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_window_times_zero(const softcheck_call* call) {
  return attend_attributed(
      call,
      []<class Real>(AttributedRow<Real>& row) {
        finish_attributed(row, scores_by(row, usual_score));
        const std::size_t size = row.out.size();
        for (std::size_t j = 0; j < row.items(); ++j) {
          if (row.visible[j] == row.without_window[j]) continue;
          for (std::size_t c = 0; c < size; ++c) row.out[c] += 0 * row.values[j * size + c];
        }
      },
      [](AttributedCall&) {});
}
