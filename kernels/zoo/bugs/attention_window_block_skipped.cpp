// The block of 16 keys in which the window begins is skipped, as if no query of the tile saw it.
#include "kernels/zoo/attention_attributed.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_window_block_skipped(const softcheck_call* call) {
  return attend_attributed(
      call,
      []<class Real>(AttributedRow<Real>& row) {
        const std::size_t first = row.window_begin, end = (first + 15) / 16 * 16;
        for (std::size_t j = first; j < std::min(row.items(), end); ++j) row.visible[j] = 0;
        finish_attributed(row, scores_by(row, usual_score));
      },
      [](AttributedCall&) {});
}
