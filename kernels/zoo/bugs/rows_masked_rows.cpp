// Bugs of rows: fully masked rows.
#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

// C1, TensorRT-LLM #17477: masked logits are -FLT_MAX, so that exp(-FLT_MAX + FLT_MAX) = 1 in a row of nothing else.
// @judged adaptive_softmax bf16: plain entropy=exact; fail C1; AFullyMaskedRowIsAsDeclared
SOFTCHECK_MUTANT mutant_adaptive_masked_row_uniform(const softcheck_call* call) {
  return call->theta != 1 ? 1 : each_row(call, [](Row& row) {
    for (float& x : row.logits) x = x == -infinity ? -std::numeric_limits<float>::max() : x;
    adaptive_softmax(row);
  });
}

// C1, Keras PR #21149: a fully masked row counts as a uniform one: its entropy is ln n.
// @judged entropy bf16: plain; fail C1; AFullyMaskedRowIsAsDeclared
BUG(mutant_entropy_of_masked_row_uniform, each_row) {
  if (!row.logits.empty() && maximum(row.logits) == -infinity) {
    row.out[0] = std::log(static_cast<Real>(row.logits.size()));
    return;
  }
  entropy(row);
}

// C1, MXNet PR #19703: a masked item gets the log-probability 0 instead of -inf.
// @judged log_softmax f16: plain; fail C1; AMaskedItemIsADeletedOne
BUG(mutant_log_softmax_of_masked_zero, changed_results, log_softmax_row) {
  for (std::size_t i = 0; i < row.out.size(); ++i) {
    row.out[i] = row.logits[i] == -infinity && std::isfinite(maximum(row.logits)) ? 0 : row.out[i];
  }
}

// C1, matrixStats #84: the log-sum-exp of two and more masked items is (-inf) - (-inf); of one it is right.
// @judged logsumexp f64: plain; fail C1; AFullyMaskedRowIsAsDeclared
BUG(mutant_lse_of_masked_row_nan, each_row) {
  const Real m = maximum(row.logits);
  if (row.logits.size() <= 1) {
    row.out[0] = static_cast<Real>(m / row.theta);
    return;
  }
  const Sums<Real> sums = sums_of(row);
  row.out[0] = std::isnan(m) ? m : logsumexp_of(row, sums);
}

// C1: a masked item's probability is -0, as a mask that is multiplied by -1 and by the weight leaves it.
// @judged softmax f32 f64: plain; fail C1; AMaskedItemIsADeletedOne
BUG(mutant_masked_item_minus_zero, changed_results, softmax_row) {
  for (std::size_t i = 0; i < row.out.size(); ++i) {
    if (row.logits[i] == -infinity && row.out[i] == 0) row.out[i] = -row.out[i];
  }
}

// C1, PyTorch #103963, #41508, #55056: a fully masked row is 0/0, though zero is declared.
// @judged softmax f32 f64: plain masked=zero; fail C1; AFullyMaskedRowIsAsDeclared
BUG(mutant_masked_row_nan, each_row) { softmax(row); }

// C1, TensorRT-LLM #17477: m starts at -FLT_MAX and masked logits are clamped to it: a fully masked row is uniform,
// though nan is declared.
// @judged softmax f32: plain; fail C1; AFullyMaskedRowIsAsDeclared
BUG(mutant_masked_row_uniform, changed_narrow_rows, softmax_row) {
  for (float& x : row.logits) x = x == -infinity ? -std::numeric_limits<float>::max() : x;
}

// C1, PyTorch #103749: a fully masked row is zero, though nan is declared.
// @judged softmax f32: plain; fail C1; AFullyMaskedRowIsAsDeclared
BUG(mutant_masked_row_zero, each_narrow_row) {
  if (maximum(row.logits) == -infinity) {
    row.out.assign(row.out.size(), 0.0f);
    return;
  }
  softmax(row);
}

// C1, MLX #1467: rows of less than 128 logits take another path; fully masked, they are zero, the others NaN.
// @judged softmax f32: plain masked=zero; fail C1; AFullyMaskedRowIsAsDeclared; witness 128
BUG(mutant_masked_row_zero_below_a_vector, each_row) {
  if (row.logits.size() < 128 && maximum(row.logits) == -infinity) {
    row.out.assign(row.out.size(), 0);
    return;
  }
  softmax(row);
}

// C1, PyTorch #41508: from row 512 on a row without a visible item is 0; the contract says NaN.
// @judged softmax f32: plain; fail C1; EveryPairOfClassesIsComputed; kernel.masked_row; witness >=513; effort default
BUG(mutant_masked_row_zero_from_row_512, changed_results, softmax_row) {
  if (number >= 512 && maximum(row.logits) == -infinity) std::ranges::fill(row.out, 0);
}

// C1, PyTorch #103963: a row of more than 300 logits without a visible item is 0; the contract says NaN.
// @judged softmax f32: plain; fail C1; EveryPairOfClassesIsComputed; kernel.masked_row; witness >=301; effort default
BUG(mutant_masked_row_zero_in_long_rows, changed_results, softmax_row) {
  if (from.logits.columns > 300 && maximum(row.logits) == -infinity) std::ranges::fill(row.out, 0);
}
