// Bugs of one size of the field alone, of rows from the 2,049th on, and of long vectors, supports and paddings.
#include <algorithm>

#include "kernels/zoo/entmax_rows.hpp"
#include "kernels/zoo/loss_rows.hpp"
#include "kernels/zoo/mean_rows.hpp"
#include "kernels/zoo/merge_rows.hpp"
#include "kernels/zoo/reference_rows.hpp"
#include "kernels/zoo/sparsemax_rows.hpp"
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

// The number of a merged column is held in eight bits.
SOFTCHECK_MUTANT mutant_merge_states_column_in_eight_bits(const softcheck_call* call) {
  return each_merge_row(call, [](auto& row) {
    for (auto& output : row.outputs) {
      for (std::size_t c = 256; c < output.size(); ++c) output[c] = output[c & 255];
    }
    row.merge();
  });
}

// A buffer of 4,096 candidates for the support: what lies behind it is not looked at.
SOFTCHECK_MUTANT mutant_sparsemax_of_4096_candidates(const softcheck_call* call) {
  return each_sparsemax_row(call, [](auto& row) {
    const auto z = row.centred();
    auto sorted = row.descending(z);
    if (sorted.size() > 4096) sorted.resize(4096);
    row.above(z, row.threshold_of(sorted));
  });
}
SOFTCHECK_MUTANT mutant_entmax15_of_4096_candidates(const softcheck_call* call) {
  return each_entmax_row(call, [](auto& row) {
    const auto d = row.halves();
    auto sorted = row.ascending(d);
    if (sorted.size() > 4096) sorted.resize(4096);
    row.below(d, row.root_of(sorted));
  });
}

// Rows of a result that is padded by 64 numbers are written one behind the other.
SOFTCHECK_MUTANT mutant_softmax_padding_of_64_not_skipped(const softcheck_call* call) {
  DLTensor out = *call->outputs[0];
  DLTensor* outputs[] = {&out};
  softcheck_call compact = *call;
  compact.outputs = outputs;
  if (out.ndim == 2 && out.strides != nullptr && out.strides[1] == 1 && out.strides[0] == out.shape[1] + 64) {
    out.strides = nullptr;
  }
  return each_row(&compact, []<class Real>(RowOf<Real>& row) { softmax(row); });
}
