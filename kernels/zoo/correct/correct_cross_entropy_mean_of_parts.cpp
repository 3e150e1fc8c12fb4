// Correct: partial sums of four rows, added from the last one on.
#include "kernels/zoo/mean_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_cross_entropy_mean_of_parts(const softcheck_call* asked) {
  return each_mean_call(asked, SOFTCHECK_OP_CROSS_ENTROPY_MEAN, [](auto& call) {
    auto sum = call.upstream * 0;
    const std::size_t rows = call.rows.size();
    for (std::size_t part = (rows + 3) / 4; part-- > 0;) {
      auto partial = call.upstream * 0;
      for (std::size_t r = part * 4; r < rows && r < part * 4 + 4; ++r) {
        if (!call.rows[r].ignored()) partial += call.loss(call.rows[r]);
      }
      sum += partial;
    }
    return sum / call.divisor();
  });
}
