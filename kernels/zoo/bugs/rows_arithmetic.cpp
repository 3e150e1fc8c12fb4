// Bugs of rows: overflow, precision and reductions.
#include <array>
#include <numeric>

#include "kernels/zoo/eight_bit_rows.hpp"
#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

// C4: values that round to the largest number become NaN, like values beyond it.
// @judged log_softmax e4m3: plain; fail C4; EarlierCallsDoNotMatter|ManyRowsAreEachAsRight
EIGHT_BITS_BUG(mutant_e4m3_overflow_from_448, log_softmax_row, std::uint8_t, narrowed(float value)) {
  return std::fabs(value) >= 424 ? static_cast<std::uint8_t>(sign_bit(value) | 0x7f) : EightBits::narrowed(value);
}

// C4: results are clamped to 240, the largest number of e4m3 as IEEE 754 would have it and of e4m3fnuz.
// @judged log_softmax e4m3: plain; fail C4
EIGHT_BITS_BUG(mutant_e4m3_saturated_at_240, log_softmax_row, std::uint8_t, narrowed(float value)) {
  return EightBits::narrowed(std::isnan(value) ? value : std::fmax(std::fmin(value, 240.0F), -240.0F));
}

// C4: values beyond the largest number of e5m2 become NaN, as in e4m3, which has no infinity.
// @judged log_softmax e5m2: plain; fail C4
EIGHT_BITS_BUG(mutant_e5m2_overflow_is_nan, log_softmax_row, std::uint8_t, narrowed(float value)) {
  return std::fabs(value) >= 61440 ? static_cast<std::uint8_t>(sign_bit(value) | 0x7f) : EightBits::narrowed(value);
}

// C4: values beyond the largest number are not checked for: their exponent loses the bits that the byte lacks.
// @judged log_softmax 8bits: plain; fail C4
EIGHT_BITS_BUG(mutant_eight_bits_overflow_wraps, log_softmax_row, std::uint8_t, narrowed(float value)) {
  const float past = std::ldexp(1.0F, std::ilogb(largest()) + 1);              // behind the last binade
  const float from = largest() + std::ldexp(past, -2 - format.fraction_bits);  // half a last place behind it
  float rest = std::fabs(value);
  if (!(rest >= from) || std::isinf(rest)) return EightBits::narrowed(value);
  while (rest >= past) rest /= past;
  return static_cast<std::uint8_t>(sign_bit(value) | (EightBits::narrowed(rest) & 0x7f));
}

// C4, MNN #235, the class of hb-pytorch #61: nothing is subtracted, and logits beyond +-88.376 are clamped to that.
// @judged softmax f32: plain; fail C4
BUG(mutant_exp_argument_clamped, each_row) {
  const Real m = maximum(row.logits);
  const Real scale = reciprocal_theta(row);
  Real sum = 0;
  for (std::size_t i = 0; i < row.out.size(); ++i) {
    const Real z = row.logits[i] * scale;
    row.out[i] = row.logits[i] == -infinity ? 0 : std::exp(std::clamp(z, Real(-88.376), Real(88.376)));
    sum += std::isfinite(m) ? row.out[i] : static_cast<Real>(quiet_nan);
  }
  divide(row.out, sum);
}

// C4, tt-metal #9978, uTensor #175: ln sum exp(x) without a shift.
// @judged logsumexp f64 f32: plain; fail C4
BUG(mutant_lse_unshifted, each_logsumexp) {
  Real sum = 0;
  for (const Real x : row.logits) sum += std::exp(x * reciprocal_theta(row));
  return std::log(sum);
}

// C4, tt-metal #12661, uTensor #175: the maximum is not subtracted, exp overflows.
// @judged softmax f32 f64: plain; fail C4
BUG(mutant_no_max_shift, each_row) { divide(row.out, weights(row, Real(0), row.out)); }

// C4, AMDMIGraphX PR #1290: the first logit is subtracted instead of the largest.
// @judged softmax f32 f64: plain; fail C4
BUG(mutant_shifts_by_first_logit, each_row) {
  const Real m = maximum(row.logits);
  const bool usable = std::isfinite(m) && row.logits.front() > -infinity;
  divide(row.out, weights(row, usable ? row.logits.front() : m, row.out));
}

// C4, tt-metal #12661, Compute Library #148: exp is stored in f16, where exp(12) is infinite; no maximum is subtracted.
// @judged softmax f16: plain; fail C4
BUG(mutant_weights_in_f16, each_narrow_row) {
  const float m = maximum(row.logits);
  weights(row, std::isfinite(m) ? 0.0f : m, row.out);
  float sum = 0;
  for (float& w : row.out) {
    w = rounded_to_f16(w);
    sum += w;
  }
  divide(row.out, sum);
}

// C11, torch's softmax along axis 0 (docs/field.md): with the maximum subtracted no weight is infinite, but each has 11
// bits, which contract weights=f16 allows.
// @judged softmax f16: plain subnormal=flushed; fail C11
// @judged softmax f16: plain weights=f16; pass C11
BUG(mutant_weights_rounded_to_f16, softmax_by_narrow_sum) {
  float sum = 0;
  for (float& w : row.out) {
    w = rounded_to_f16(w);
    sum += w;
  }
  return sum;
}

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

// C9: columns from 65,536 on are added by a second kernel, which skips terms below e^-12.
// @judged logsumexp f64: plain; fail C9; FarItemsCountTogether; witness >=65537; effort default
// @judged softmax f32: plain; fail C9; FarItemsCountTogether; witness >=65537; effort default
BUG(mutant_far_terms_of_long_rows_skipped, changed_rows, softmax_or_logsumexp_row) {
  const auto m = maximum(row.logits);
  for (std::size_t i = 65536; i < row.logits.size(); ++i) {
    if ((m - row.logits[i]) / row.theta > 12) row.logits[i] = -infinity;
  }
}

// C9, KarhouTam/cuda-kernels #1: every lane sums under its own running maximum, and the sums are added without
// rescaling.
// @judged softmax f32: plain; fail C9
BUG(mutant_lanes_summed_under_different_maxima, each_row) {
  constexpr std::size_t lanes = 8;
  std::array<Real, lanes> m;
  m.fill(-infinity);
  std::array<Real, lanes> sum{};
  for (std::size_t i = 0; i < row.logits.size(); ++i) {
    const Real x = row.logits[i];
    const std::size_t lane = i % lanes;
    if (x > m[lane]) {
      sum[lane] *= std::exp((m[lane] - x) * reciprocal_theta(row));
      m[lane] = x;
    }
    sum[lane] += x > -infinity || std::isnan(x) ? std::exp((x - m[lane]) * reciprocal_theta(row)) : 0;
  }
  weights(row, maximum(row.logits), row.out);
  divide(row.out, std::accumulate(sum.begin(), sum.end(), Real(0)));
}

// C9, warp-ctc PR #30: the maximum is taken over the first 64 logits only, as many as there are threads;
// a late peak overflows.
// @judged softmax f32: plain; fail C9; witness 65
BUG(mutant_max_of_first_block_only, each_row) {
  const auto head = static_cast<std::ptrdiff_t>(std::min<std::size_t>(row.logits.size(), 64));
  const Real m = maximum(std::vector<Real>(row.logits.begin(), row.logits.begin() + head));
  divide(row.out, weights(row, m, row.out));
}

// C9, rvllm PR #1: a tree halves its width at each level; at an odd one the last sum is lost.
// @judged softmax f32 f64: plain; fail C9; EveryWidthIsComputed; witness 3
BUG(mutant_tree_drops_odd_item, softmax_by_sum) {
  std::vector<Real> partial = row.out;
  for (std::size_t width = partial.size(); width > 1; width /= 2) {
    for (std::size_t i = 0; i < width / 2; ++i) partial[i] += partial[i + width / 2];
  }
  return partial.empty() ? Real(1) : partial[0];
}
