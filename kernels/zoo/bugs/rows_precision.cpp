// Bugs of rows: precision of intermediate results.
#include "kernels/zoo/eight_bit_rows.hpp"

using namespace softcheck::kernels::zoo;

// C11: the probabilities of long rows come out too large by as much as their sum may err. No sum of nonnegative terms
// is less than one of them: the largest probability must not exceed 1 by that.
// @judged softmax f32: plain; fail C11
BUG(mutant_coefficient_above_one, changed_narrow_results, softmax_row) {
  const auto visible = std::count_if(row.logits.begin(), row.logits.end(), [](float x) { return x > -infinity; });
  const float factor = 1 + std::ldexp(static_cast<float>(visible), -26);
  for (float& p : row.out) p *= factor;
}

// C11, the class of PyTorch #158310: T = sum w D is kept in f16.
// @judged entropy f16: plain; fail C11
BUG(mutant_deviations_in_f16, each_narrow_entropy) {
  Sums<float> sums = sums_of(row);
  sums.deviations = 0;
  for (const float x : row.logits) {
    const float deviation = (sums.maximum - x) * reciprocal_theta(row);
    const float w = std::exp(-deviation);
    sums.deviations = rounded_to_f16(sums.deviations + (w > 0 ? w * deviation : 0));
  }
  return entropy_of(sums);
}

// C11: logits are read with the exponent bias of a fnuz format, which is one more: they are halved.
// @judged softmax 8bits: plain; fail C11
EIGHT_BITS_BUG(mutant_eight_bits_bias_of_fnuz, softmax_row, float, widened(std::uint8_t bits)) {
  return EightBits::widened(bits) / 2;
}

// C11: subnormal results are flushed to zero, in e4m3 all coefficients below 1/64.
// @judged softmax 8bits: plain subnormal=kept; fail C11
// @judged softmax 8bits: plain subnormal=flushed; pass C11
EIGHT_BITS_BUG(mutant_eight_bits_subnormals_flushed, softmax_row, std::uint8_t, narrowed(float value)) {
  return std::fabs(value) < smallest_normal() ? sign_bit(value) : EightBits::narrowed(value);
}

// C11: subnormal logits are read as zero.
// @judged softmax 8bits: plain subnormal=kept; fail C11
EIGHT_BITS_BUG(mutant_eight_bits_subnormals_read_as_zero, softmax_row, float, widened(std::uint8_t bits)) {
  return (bits & 0x7fU) < first_normal() ? 0 : EightBits::widened(bits);
}

// C11: the bits beyond the last one are truncated, as if a byte were the upper half of an f16.
// @judged softmax 8bits: plain; fail C11
EIGHT_BITS_BUG(mutant_eight_bits_truncated, softmax_row, std::uint8_t, narrowed(float value)) {
  const std::uint8_t nearest = EightBits::narrowed(value);
  return std::fabs(EightBits::widened(nearest)) > std::fabs(value) ? static_cast<std::uint8_t>(nearest - 1) : nearest;
}

// C11, torch's f16 log-sum-exp and log-softmax along the last axis, SciPy's and JAX's softmax: the exponentials are
// added in f16. From 65,520 equal logits on their sum is infinite: the log-sum-exp is +inf, every log-probability
// -inf, every probability 0.
// Writes the exponentials, rounded to f16, to out and returns their sum.
static float f16_weights(Row& row, float m) {
  weights(row, m, row.out);
  for (float& w : row.out) w = rounded_to_f16(w);
  return f16_pairwise_sum(row.out);
}

// @judged logsumexp f16: acc=f16 exp=1ulp sum=tree masked=nan; fail C11
BUG(mutant_logsumexp_f16_sum_overflows, each_narrow_logsumexp) {
  Row wide = row;
  wide.out.resize(row.logits.size());
  const float m = maximum(row.logits);
  return static_cast<float>(m / row.theta + std::log(f16_weights(wide, m)));
}

// @judged log_softmax f16: acc=f16 exp=1ulp sum=tree masked=nan; fail C11
BUG(mutant_log_softmax_f16_sum_overflows, each_narrow_row) {
  const float m = maximum(row.logits), log_sum = std::log(f16_weights(row, m));
  for (std::size_t i = 0; i < row.out.size(); ++i) {
    row.out[i] = static_cast<float>((row.logits[i] - m) / row.theta - log_sum);
  }
}

// @judged softmax f16: acc=f16 exp=1ulp sum=tree masked=nan; fail C11; element|row_sum
BUG(mutant_softmax_f16_sum_overflows, each_narrow_row) { divide(row.out, f16_weights(row, maximum(row.logits))); }

// C11, dos-kernel #107 (KernelBench): f64 logits are narrowed, and the row is computed in f32.
// @judged softmax f64: plain; fail C11
BUG(mutant_f64_computed_in_f32, each_row) {
  const Real m = maximum(row.logits);
  float sum = 0;
  for (std::size_t i = 0; i < row.out.size(); ++i) {
    const float w = std::exp(static_cast<float>((row.logits[i] - m) / row.theta));
    row.out[i] = w;
    sum += w;
  }
  divide<Real>(row.out, sum);
}

// C11, PyTorch #38839: log(softmax(x)): -inf if the coefficient underflows, no digits near 1.
// @judged log_softmax f32: plain; fail C11
BUG(mutant_log_of_softmax, changed_narrow_results, softmax_row) {
  for (float& p : row.out) p = std::log(p);
}

// C11, PyTorch #38839, #11752, MLX PR #4169: x - (max + ln S): at an offset of -1e7 all digits of ln S are gone.
// @judged log_softmax f32 f16: plain; fail C11
BUG(mutant_log_softmax_minus_lse, each_row) {
  const Real m = maximum(row.logits);
  const Real lse = m * reciprocal_theta(row) + std::log(weights(row, m, row.out));
  for (std::size_t i = 0; i < row.out.size(); ++i) {
    row.out[i] = row.logits[i] * reciprocal_theta(row) - lse;
  }
}

// C11: x / T is stored in bf16: no contract word but acc=bf16 grants that.
// @judged softmax f32: plain theta=before; fail C11
BUG(mutant_scaled_logits_in_bf16, changed_narrow_rows, softmax_row) {
  for (float& x : row.logits) x = rounded_to_bf16(x / static_cast<float>(row.theta));
  row.theta = 1;
}

// C11, ExecuTorch PR #20090, ik_llama #1196: the sum is kept in bf16, where 256 + 1 = 256.
// @judged softmax f32 bf16: plain; fail C11
BUG(mutant_sum_in_bf16, softmax_by_narrow_sum) {
  float sum = 0;
  for (const float w : row.out) sum = rounded_to_bf16(sum + w);
  return sum;
}

// C11, tract PR #2586, PyTorch #158310: the sum is kept in f16, where 2048 + 1 = 2048.
// @judged softmax f32 f16: plain; fail C11
BUG(mutant_sum_in_f16, softmax_by_narrow_sum) {
  float sum = 0;
  for (const float w : row.out) sum = rounded_to_f16(sum + w);
  return sum;
}
