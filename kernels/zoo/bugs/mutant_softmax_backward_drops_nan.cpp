// Bug: a NaN in the saved output is left out of the sum.
#include "kernels/zoo/gradient_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_softmax_backward_drops_nan(const softcheck_call* call) {
  return each_gradient_row(call, SOFTCHECK_OP_SOFTMAX_BACKWARD, [](auto& row) {
    auto mean = decltype(row.saved[0] + 0){};
    for (std::size_t i = 0; i < row.out.size(); ++i) {
      const auto product = row.saved[i] * row.upstream[i];
      if (!std::isnan(product)) mean += product;
    }
    for (std::size_t i = 0; i < row.out.size(); ++i) row.out[i] = row.saved[i] * (row.upstream[i] - mean);
  });
}
