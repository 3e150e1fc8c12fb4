// Bug: the sum in the narrow format, as in MIOpen issue 3427.
#include "kernels/zoo/gradient_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_softmax_backward_adds_in_bf16(const softcheck_call* call) {
  return each_gradient_row(call, SOFTCHECK_OP_SOFTMAX_BACKWARD, [](auto& row) {
    const auto mean = [&] {
      auto sum = decltype(row.saved[0] + 0){};
      for (std::size_t i = 0; i < row.saved.size(); ++i) sum = stored_in_bf16(sum + row.saved[i] * row.upstream[i]);
      return sum;
    }();
    for (std::size_t i = 0; i < row.out.size(); ++i) row.out[i] = row.saved[i] * (row.upstream[i] - mean);
  });
}
