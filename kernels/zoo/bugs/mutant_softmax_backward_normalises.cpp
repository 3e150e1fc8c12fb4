// Bug: divides by sum y, as if a saved output that does not add up to 1 were to be mended.
#include "kernels/zoo/gradient_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_softmax_backward_normalises(const softcheck_call* call) {
  return each_gradient_row(call, SOFTCHECK_OP_SOFTMAX_BACKWARD, [](auto& row) {
    const auto mean = [&] {
      auto sum = decltype(row.saved[0] + 0){};
      for (const auto y : row.saved) sum += y;
      return sum > 0 ? mean_of(row) / sum : sum;
    }();
    for (std::size_t i = 0; i < row.out.size(); ++i) row.out[i] = row.saved[i] * (row.upstream[i] - mean);
  });
}
