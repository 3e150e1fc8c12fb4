// Bugs of attention: fully masked rows.
#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

// C1, FlashAttention #978: the log-sum-exp of a row without keys is +inf.
// @judged attention f16: plain entropy=exact; fail C1; AFullyMaskedRowIsAsDeclared
BUG(mutant_attention_masked_lse_infinite, attend_changed_results) {
  if (row.lse == lowest<Real>) row.lse = std::numeric_limits<Real>::infinity();
}

// C1, PyTorch #103963: no guard for S = 0: a fully masked row is NaN though zero is declared.
// @judged attention f32: plain masked=zero entropy=exact; fail C1; AFullyMaskedRowIsAsDeclared
SOFTCHECK_MUTANT mutant_attention_masked_row_divides_by_zero(const softcheck_call* call) {
  return attend(call, two_pass);
}

// C1, TensorRT-LLM #17477: masked scores are -FLT_MAX, and so is the first maximum: a fully masked row is the mean of
// V.
// @judged attention f32 bf16: plain entropy=exact; fail C1; AFullyMaskedRowIsAsDeclared
BUG(mutant_attention_masked_row_uniform, attend_changed_scores) {
  for (Real& value : x) value = std::max(value, -std::numeric_limits<Real>::max());
}

// C1, C13: a query that sees no key gets -0, the contract says 0; and so does an entropy of 0.
// @judged attention f32: plain masked=zero; fail C1; AFullyMaskedRowIsAsDeclared
BUG(mutant_attention_blind_rows_minus_zero, attend) {
  const std::vector<Real> x = scores(row);
  finish(row, accumulate(row, x, largest(x)), Real(1), Real(0));
  const bool blind = largest(x) == lowest<Real>;
  for (Real& value : row.out) value = blind ? -value : value;
}

// @judged attention f32: plain; fail C13; entropy
BUG(mutant_attention_entropy_minus_zero, attend_changed_results) {
  if (row.entropy == 0) row.entropy = -row.entropy;
}
