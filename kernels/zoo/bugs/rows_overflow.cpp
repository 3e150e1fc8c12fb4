// Bugs of rows: overflow.
#include "kernels/zoo/eight_bit_rows.hpp"

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
