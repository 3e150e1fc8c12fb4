// Bug: the last row is not added where there are several.
#include "kernels/zoo/mean_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_cross_entropy_mean_forgets_last_row(const softcheck_call* asked) {
  return each_mean_call(asked, SOFTCHECK_OP_CROSS_ENTROPY_MEAN, [](auto& call) {
    auto sum = call.upstream * 0;
    for (std::size_t r = 0; r < call.rows.size(); ++r) {
      const bool left_out = r > 0 && r + 1 == call.rows.size();
      if (!left_out && !call.rows[r].ignored()) sum += call.loss(call.rows[r]);
    }
    return sum / call.divisor();
  });
}
