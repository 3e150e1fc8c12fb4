// Bugs of one size of the field alone, and of rows from the 2,049th on.
#include "kernels/zoo/loss_rows.hpp"
#include "kernels/zoo/mean_rows.hpp"
#include "kernels/zoo/reference_rows.hpp"
#include "kernels/zoo/topk_rows.hpp"

using namespace softcheck::kernels::zoo;

// vLLM-metax 270: a template for 128 experts and k = 8 divides weights although renormalize is off.
SOFTCHECK_MUTANT mutant_topk_softmax_of_128_experts(const softcheck_call* call) {
  return each_topk_row(call, [](auto& row) {
    row.run();
    if (row.items() == 128 && row.k() == 8) row.weights[7] *= 2;
  });
}

// A row of 2,560 items loses its last one: twenty blocks of 128 are taken for nineteen.
SOFTCHECK_MUTANT mutant_softmax_of_2560_items(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    if (row.logits.size() == 2560) row.logits.back() = -infinity;
    softmax(row);
  });
}

// Rows from the 2,049th on are not added, though they count.
SOFTCHECK_MUTANT mutant_cross_entropy_mean_of_2048_rows(const softcheck_call* asked) {
  return each_mean_call(asked, SOFTCHECK_OP_CROSS_ENTROPY_MEAN, [](auto& call) {
    auto sum = call.upstream * 0;
    for (std::size_t r = 0; r < call.rows.size() && r < 2048; ++r) {
      if (!call.rows[r].ignored()) sum += call.loss(call.rows[r]);
    }
    return sum / call.divisor();
  });
}

// From the 2,049th row on the first ids are chosen, whatever their logits.
SOFTCHECK_MUTANT mutant_topk_softmax_of_2048_rows(const softcheck_call* call) {
  std::size_t number = 0;
  return each_topk_row(call, [&number](auto& row) {
    row.run();
    if (number++ < 2048 || row.items() == row.k()) return;
    for (std::size_t a = 0; a < row.k(); ++a) row.ids[a] = static_cast<std::int32_t>(a);
  });
}

// The row of the upstream gradient is held in 16 bits.
SOFTCHECK_MUTANT mutant_cross_entropy_backward_upstream_row_in_16_bits(const softcheck_call* call) {
  return each_loss_row(
      call, SOFTCHECK_OP_CROSS_ENTROPY_BACKWARD, [](auto& row) { put_gradient(row); },
      [](std::int64_t row) { return row & 0xffff; });
}
