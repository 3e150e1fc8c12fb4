// Bug: labels of 64 bits are read as if they had 32.
#include "kernels/zoo/loss_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_cross_entropy_reads_short_labels(const softcheck_call* call) {
  if (call->n_inputs < 2 || call->inputs[1]->dtype.bits != 64) {
    return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY, [](auto& row) {
      if (row.ignored()) return;
      const auto m = row.maximum();
      row.out[0] = row.loss(m, std::log(row.sum(m)));
    });
  }
  const DLTensor labels = *call->inputs[1];
  std::int64_t at = 0;
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY, [&](auto& row) {
    const char* data = static_cast<const char*>(labels.data) + labels.byte_offset;
    row.label = bits_at<std::int32_t>(data + 4 * at++);
    if (row.ignored()) return;
    row.label = std::clamp<std::int64_t>(row.label, 0, static_cast<std::int64_t>(row.logits.size()) - 1);
    const auto m = row.maximum();
    row.out[0] = row.loss(m, std::log(row.sum(m)));
  });
}
