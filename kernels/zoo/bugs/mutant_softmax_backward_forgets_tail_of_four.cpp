// Bug: items behind the last whole vector of four are not added.
#include "kernels/zoo/gradient_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_softmax_backward_forgets_tail_of_four(const softcheck_call* call) {
  return each_gradient_row(call, SOFTCHECK_OP_SOFTMAX_BACKWARD, [](auto& row) {
    const auto mean = [&] {
      auto sum = decltype(row.saved[0] + 0){};
      for (std::size_t i = 0; i < row.saved.size() / 4 * 4; ++i) sum += row.saved[i] * row.upstream[i];
      return sum;
    }();
    for (std::size_t i = 0; i < row.out.size(); ++i) row.out[i] = row.saved[i] * (row.upstream[i] - mean);
  });
}
