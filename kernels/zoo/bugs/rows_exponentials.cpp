// Bugs of rows: exponentials, NaN and infinities.
#include "kernels/zoo/eight_bit_rows.hpp"
#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

// C12: an exponential that underflows becomes the smallest negative number, as a polynomial without a clamp leaves
// it: far below every threshold's floor, and no probability.
// @judged softmax f32: plain; fail C12
BUG(mutant_coefficient_below_zero, changed_results, softmax_row) {
  for (std::size_t i = 0; i < row.out.size(); ++i) {
    if (row.out[i] == 0 && row.logits[i] > -infinity) row.out[i] = -std::numeric_limits<Real>::denorm_min();
  }
}

// @judged adaptive_softmax f32: exp=1ulp sum=tree masked=nan entropy=exact; fail C12
BUG(mutant_adaptive_coefficient_below_zero, each_row_at_theta_1) {
  adaptive_softmax(row);
  for (std::size_t i = 0; i < row.out.size(); ++i) {
    if (row.out[i] == 0 && row.logits[i] > -infinity) row.out[i] = -std::numeric_limits<Real>::denorm_min();
  }
}

// C12: the largest exponent of e4m3 is read as IEEE 754 has it, infinity and NaN: of the numbers from 256 on.
// @judged softmax e4m3: plain; fail C12
EIGHT_BITS_BUG(mutant_e4m3_infinite_exponent, softmax_row, float, widened(std::uint8_t bits)) {
  if ((bits & 0x78U) != 0x78U) return EightBits::widened(bits);
  if ((bits & 0x07U) != 0) return quiet_nan;
  return (bits & 0x80U) != 0 ? -infinity : infinity;
}

// C12: NaN is written as 0x80, which it is in the fnuz formats: -0 in those of the OCP.
// @judged softmax 8bits: plain; fail C12; ANanLogitMakesItsRowNan
EIGHT_BITS_BUG(mutant_eight_bits_nan_of_fnuz, softmax_row, std::uint8_t, narrowed(float value)) {
  return std::isnan(value) ? 0x80 : EightBits::narrowed(value);
}

// C12: the clamp in front of the conversion makes the largest number of a NaN: fmin and fmax return their other
// argument.
// @judged softmax 8bits: plain; fail C12; AFullyMaskedRowIsAsDeclared
EIGHT_BITS_BUG(mutant_eight_bits_nan_saturated, softmax_row, std::uint8_t, narrowed(float value)) {
  return EightBits::narrowed(std::fmax(std::fmin(value, largest()), -largest()));
}

// C12, AiDotNet.Tensors PR #126: exp(z) is exp(-87) below -87: masked and negligible items are not zero.
// @judged softmax f32: plain; fail C12
BUG(mutant_exp_argument_clamped_below, softmax_by_weights) {
  const Real z = (row.logits[i] - m) * reciprocal_theta(row);
  return std::exp(z < -87 ? Real(-87) : z);
}

// C12: exp(z) is 0 below -708, where it is still a normal number of f64.
// @judged softmax f64: plain; fail C12; LogitsReachTheirRange
BUG(mutant_exp_is_zero_below_708, softmax_by_weights) {
  const Real z = (row.logits[i] - m) * reciprocal_theta(row);
  return z < -708 ? Real(0) : std::exp(z);
}

// C12, OpenVINO PR #37857: 2^f on [0, 1) by a straight line, 3 % at most: too much for a kernel that declares 1 ulp.
// @judged softmax bf16 f32: plain; fail C12
BUG(mutant_exp_by_a_line, softmax_by_weights) {
  const Real z = (row.logits[i] - m) * reciprocal_theta(row) * Real(1.44269504088896341);
  const Real whole = std::floor(z);
  return std::isnan(z) || z < -126 ? std::exp(z) : std::ldexp(Real(0.957) + (z - whole), static_cast<int>(whole));
}

// e^z by a polynomial whose coefficient of r^3, 1/6, is cut.
static float exp_with_a_cut_coefficient(float z, double third) {
  if (!(z > -87)) return std::isnan(z) ? z : 0.0f;
  const float k = std::nearbyint(z * 1.44269504f);
  const double r = z - k * 0.693147180559945309;
  const double p = 1 + r * (1 + r * (0.5 + r * (third + r * (1 / 24.0 + r * (1 / 120.0 + r * (1 / 720.0))))));
  return std::ldexp(static_cast<float>(p), static_cast<int>(k));
}

// C12, an honest blind spot: one coefficient of exp's polynomial is cut after five digits, 0.16666 for 1/6. At most 7 u
// at r = -ln(2)/2, and less where the row's sum is near; the contract grants every kernel the rescalings of an online
// maximum and a multiplication by the reciprocal, which weigh as much. Told apart by tighter contracts only.
// @judged softmax f32: plain; pass C12
BUG(mutant_exp_coefficient_last_digit, softmax_by_narrow_weights) {
  return exp_with_a_cut_coefficient(static_cast<float>((row.logits[i] - m) / row.theta), 0.16666);
}

// C12: one coefficient of exp's polynomial is cut after four digits, 0.1666 for 1/6: up to 66 u at r = -ln(2)/2.
// @judged softmax f32: plain; fail C12
BUG(mutant_exp_coefficient_perturbed, softmax_by_narrow_weights) {
  return exp_with_a_cut_coefficient(static_cast<float>((row.logits[i] - m) / row.theta), 0.1666);
}

// C12, the class of torch-xpu-ops #5022: +inf from column 1100 on counts as 0.
// @judged softmax f32: plain; fail C12; EveryPairOfClassesIsComputed; kernel.infinite_row; witness >=1101; effort
// default
// @judged logsumexp bf16: plain; fail C12; EveryPairOfClassesIsComputed; kernel.infinite_row; witness >=1101; effort
// default
BUG(mutant_infinite_logit_lost_from_column_1100, changed_rows, softmax_or_logsumexp_row) {
  for (std::size_t i = 1100; i < row.logits.size(); ++i) {
    row.logits[i] = row.logits[i] == infinity ? 0 : row.logits[i];
  }
}

// C12, the class of torch-xpu-ops #5022: +inf in a row from the 512th on counts as 0.
// @judged logsumexp f32: plain; fail C12; EveryPairOfClassesIsComputed; kernel.infinite_row; witness >=513; effort
// default
BUG(mutant_infinite_logit_lost_from_row_512, changed_rows, softmax_or_logsumexp_row) {
  for (auto& x : row.logits) x = number >= 512 && x == infinity ? 0 : x;
}

// C12: a row with a logit of +inf gives zeros, neither NaN nor the limit.
// @judged softmax f32: plain; fail C12; AnInfiniteLogitGivesNanOrTheLimit
BUG(mutant_infinite_row_zero, each_row) {
  const bool infinite = maximum(row.logits) == infinity;
  softmax(row);
  if (infinite) std::fill(row.out.begin(), row.out.end(), static_cast<Real>(0));
}

// Bug under infinity=limit: a logit of +inf is the maximum, and inf - inf makes the sum NaN, where no guard asks for
// it.
// @judged logsumexp f32: plain infinity=limit; fail C12; AnInfiniteLogitGivesNanOrTheLimit|EveryPairOfClassesIsComputed
BUG(mutant_lse_of_infinity_nan, each_row) {
  const Real m = maximum(row.logits);
  row.out[0] = m == infinity
                   ? static_cast<Real>(quiet_nan)
                   : logsumexp_or(row, [](const RowOf<Real>& finite) { return logsumexp_of(finite, sums_of(finite)); });
}

// C12, torch-xpu-ops PR #5022: fmax drops a NaN, and items that are not larger than -inf are left out of the sum.
// @judged logsumexp f32 bf16: plain; fail C12; ANanLogitMakesItsRowNan
BUG(mutant_lse_skips_nan, changed_rows, logsumexp_row) {
  for (Real& x : row.logits) x = std::fmax(x, static_cast<Real>(-infinity));
}

// C12: at a temperature that f32 does not hold NaN is dropped.
// @judged softmax f32: plain; fail C12; ANanLogitMakesItsRowNan|EveryPairOfClassesIsComputed; effort default
BUG(mutant_nan_at_theta_lost, changed_rows, softmax_row) {
  lose_nans(row, [&](std::int64_t /*i*/) { return row.theta != static_cast<float>(row.theta); });
}

// C12, torch-xpu-ops #5022: only the first 300 columns are checked for NaN; a later NaN counts as -inf.
// @judged softmax f32: plain; fail C12; EveryPairOfClassesIsComputed; kernel.nan_row; witness >=301; effort default
BUG(mutant_nan_beyond_column_300, rows_losing_nans, softmax_row) { return i >= 300; }

// C12, the class of torch-xpu-ops #5022: a NaN in a row from the 512th on counts as -inf.
// @judged logsumexp f32: plain; fail C12; EveryPairOfClassesIsComputed; kernel.nan_row; witness >=513; effort default
BUG(mutant_nan_beyond_row_512, rows_losing_nans, softmax_or_logsumexp_row) { return number >= 512; }

// C12, C7: the kernel for columns that lie apart drops NaN in rows of more than 300 logits.
// @judged log_softmax f64: plain; fail C12; EveryPairOfClassesIsComputed; kernel.nan_row; witness >=301; effort default
BUG(mutant_nan_in_a_column_stride_lost, rows_losing_nans, log_softmax_row) {
  return from.logits.column_stride > 1 && from.logits.columns > 300;
}

// C12: logits are compared as integers that keep their order, by which a negative NaN lies below -inf.
// @judged log_softmax f32 bf16: plain; fail C12; ANanLogitMakesItsRowNan|EveryPairOfClassesIsComputed; effort default
BUG(mutant_nan_negative_lost, rows_losing_nans, log_softmax_row) {
  return (stored_bits(from, number, i) >> (from.logits.type.bits - 1)) != 0;
}

// C12, C5: the tail of a row of more than 1100 logits takes its maximum with fmax; the last item is there.
// @judged entropy f32: plain; fail C12; EveryPairOfClassesIsComputed; kernel.nan_row; witness >=1102; effort default
BUG(mutant_nan_of_the_last_item_of_long_rows_lost, rows_losing_nans, entropy_row) {
  return i > 1100 && i + 1 == from.logits.columns;
}

// C12, the class of glibc's tests of a high word: the kernel looks for a NaN of f64 only in the upper 32 bits, and
// takes a NaN with a payload in the lower bits for an infinity.
// @judged softmax f64: plain; fail C12; ANanLogitMakesItsRowNan|EveryPairOfClassesIsComputed; effort default
BUG(mutant_nan_of_the_low_word_lost, rows_losing_nans, softmax_row) {
  return (stored_bits(from, number, i) >> 32 & 0xfffff) == 0;
}

// C12, C8: a row notes by a flag that it met a NaN, and the next one flips it back.
// @judged softmax f32: plain; fail C12; EveryPairOfClassesIsComputed; kernel.nan_row; effort default
BUG(mutant_nan_pairs_cancel, changed_rows, softmax_row) {
  const auto count = std::count_if(row.logits.begin(), row.logits.end(), [](auto x) { return std::isnan(x); });
  if (count % 2 == 0) lose_nans(row, [](std::int64_t /*i*/) { return true; });
}

// C12, MindSpore #378: in a row that holds a NaN the masked items stay -inf.
// @judged log_softmax f32 bf16: plain; fail C12; ANanLogitMakesItsRowNan
BUG(mutant_nan_row_keeps_minus_inf, changed_results, log_softmax_row) {
  for (std::size_t i = 0; i < row.out.size(); ++i) {
    const bool masked_beside_nan = row.logits[i] == -infinity && std::isnan(maximum(row.logits));
    row.out[i] = masked_beside_nan ? static_cast<Real>(-infinity) : row.out[i];
  }
}

// C12: only a NaN with the quiet bit is recognised; a signalling NaN counts as -inf.
// @judged softmax f32 f64 f16 bf16: plain; fail C12; ANanLogitMakesItsRowNan|EveryPairOfClassesIsComputed; effort
// default
BUG(mutant_nan_signalling_lost, rows_losing_nans, softmax_row) {
  return (stored_bits(from, number, i) >> (fraction_bits(from.logits.type) - 1) & 1) == 0;
}

// C12, torch-xpu-ops #5022: a NaN logit counts as -inf.
// @judged softmax f32 f16: plain; fail C12; ANanLogitMakesItsRowNan
BUG(mutant_nan_swallowed, changed_narrow_rows, softmax_row) {
  for (float& x : row.logits) x = std::isnan(x) ? -infinity : x;
}

// C12, openvino #23608: the kernel for masks takes its maximum with fmax, which drops NaN, in calls of more than three
// rows.
// @judged logsumexp f32: plain; fail C12; EveryPairOfClassesIsComputed; kernel.nan_row; effort default
BUG(mutant_nan_with_a_mask_lost, rows_losing_nans, softmax_or_logsumexp_row) {
  return from.mask && from.logits.rows > 3;
}

// C12: only the NaN with the quiet bit and no payload is recognised, of either sign; one with a payload counts as -inf.
// @judged entropy f32 f16: plain; fail C12; ANanLogitMakesItsRowNan|EveryPairOfClassesIsComputed; effort default
BUG(mutant_nan_with_payload_lost, rows_losing_nans, entropy_row) {
  return (stored_bits(from, number, i) & ((std::uint64_t{1} << (fraction_bits(from.logits.type) - 1)) - 1)) != 0;
}

// C12: the sum of an f64 row leaves out terms below 1.45e-16, which are more than half a unit of the last place of 1.
// @judged softmax f64: plain; fail C12; FarItemsCountTogether; effort default
BUG(mutant_sum_without_terms_below_an_ulp, each_row) {
  const Real m = maximum(row.logits);
  weights(row, m, row.out);
  Real sum = 0;
  for (const Real w : row.out) sum += w < static_cast<Real>(1.45e-16) ? 0 : w;
  divide(row.out, sum);
}

// C12: the sum leaves out terms below e^-16, which 1 + w = 1 in f32 makes look harmless.
// @judged softmax f32: plain; fail C12; FarItemsCountTogether; effort default
BUG(mutant_sum_without_terms_below_e_16, each_row) {
  const Real m = maximum(row.logits);
  weights(row, m, row.out);
  Real sum = 0;
  for (const Real w : row.out) sum += w < static_cast<Real>(1.125e-7) ? 0 : w;
  divide(row.out, sum);
}
