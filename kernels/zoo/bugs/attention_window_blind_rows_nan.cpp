// mlxcel 408: a query whose window holds no key gives NaN where the contract, and every other row, says zero.
#include "kernels/zoo/attention_attributed.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_window_blind_rows_nan(const softcheck_call* call) {
  return attend_attributed(
      call,
      []<class Real>(AttributedRow<Real>& row) {
        const auto none = [](const std::vector<std::uint8_t>& seen) { return std::ranges::count(seen, 1) == 0; };
        const bool by_window = none(row.visible) && !none(row.without_window);
        finish_attributed(row, scores_by(row, usual_score), by_window ? not_a_number<Real> : Real(0));
      },
      [](AttributedCall&) {});
}
