// Correct kernels of softmax.
#include <array>
#include <span>

#include "kernels/zoo/eight_bit_rows.hpp"

using namespace softcheck::kernels::zoo;

// Correct under contract acc=bf16: every sum is rounded to 8 bits. Long rows leave such a promise without content:
// vacuous.
// @judged softmax bf16: acc=bf16 exp=E:2,A:1 sum=sequential masked=nan; vacuous
CORRECT(correct_bf16_accumulator, each_narrow_row) {
  const float m = maximum(row.logits);
  const float scale = rounded_to_bf16(reciprocal_theta(row));
  float sum = 0;
  for (std::size_t i = 0; i < row.out.size(); ++i) {
    row.out[i] = rounded_to_bf16(std::exp(rounded_to_bf16(rounded_to_bf16(row.logits[i] - m) * scale)));
    sum = rounded_to_bf16(sum + row.out[i]);
  }
  divide(row.out, sum);
}

// Correct under sum=lanes:1: blocks of 16 logits, each one logit after the other below its own maximum, and the blocks
// one after the other to a running sum. It rescales more often than the row's own maximum rises, so that it does not
// keep sum=sequential. An exponential errs by 46 u and its rounding: up in sums, down in numerators.
namespace {

template <class Real>
Real exponential_off(Real argument, int direction) {
  if (argument == 0) return 1;  // every contract has e^0 = 1
  const long double off = 46 * direction * (std::numeric_limits<Real>::epsilon() / 2);
  return static_cast<Real>(std::exp(static_cast<long double>(argument)) * (1 + off));
}

template <class Real>
struct RunningSum {
  Real maximum = -infinity, sum = 0;
};

// The sum of two states, by the exponential of the difference of their maxima.
template <class Real>
RunningSum<Real> added_in_turn(const RunningSum<Real>& before, const RunningSum<Real>& next, Real scale) {
  if (before.maximum == -infinity) return next;
  if (next.maximum > before.maximum) {
    const Real factor = exponential_off((before.maximum - next.maximum) * scale, 1);
    return {next.maximum, before.sum * factor + next.sum};
  }
  if (next.maximum == -infinity) return before;
  return {before.maximum, before.sum + next.sum * exponential_off((next.maximum - before.maximum) * scale, 1)};
}

}  // namespace

// @judged softmax f32: exp=E:50,A:1 sum=lanes:1 masked=nan; pass
CORRECT(correct_blocks_in_turn, each_row) {
  constexpr std::size_t width = 16;
  const Real scale = reciprocal_theta(row);
  const std::span<const Real> logits(row.logits);
  RunningSum<Real> all;
  bool undefined = false;
  for (std::size_t begin = 0; begin < logits.size(); begin += width) {
    RunningSum<Real> block;
    for (const Real x : logits.subspan(begin, std::min(width, logits.size() - begin))) {
      undefined = undefined || std::isnan(x) || x == infinity;
      if (x > -infinity) block = added_in_turn(block, {x, 1}, scale);
    }
    all = added_in_turn(all, block, scale);
  }
  for (std::size_t i = 0; i < row.out.size(); ++i) {
    row.out[i] = undefined ? quiet_nan : exponential_off((logits[i] - all.maximum) * scale, -1) / all.sum;
  }
}

// Everything in double, one rounding at the end.
// @judged softmax f32 f16 bf16: plain; pass
CORRECT(correct_double, each_narrow_row) {
  const double m = maximum(row.logits);
  double sum = 0;
  for (const float x : row.logits) sum += std::exp((x - m) / row.theta);
  for (std::size_t i = 0; i < row.out.size(); ++i) {
    row.out[i] = static_cast<float>(std::exp((row.logits[i] - m) / row.theta) / sum);
  }
}

// Values beyond the largest number of a format of 8 bits become that number, as in CUDA's conversions.
namespace {
struct Saturated : EightBits {
  std::uint8_t narrowed(float value) const {
    return softcheck::kernels::arithmetic::f32_to_byte(format, value,
                                                       softcheck::kernels::arithmetic::Beyond::saturated);
  }
};
}  // namespace

// @judged softmax 8bits: plain subnormal=kept; pass
SOFTCHECK_MUTANT correct_eight_bits_saturated_softmax(const softcheck_call* call) {
  return each_row_of_eight_bits<Saturated>(call, softmax_row);
}

// @judged log_softmax 8bits: plain subnormal=kept; pass
SOFTCHECK_MUTANT correct_eight_bits_saturated_log_softmax(const softcheck_call* call) {
  return each_row_of_eight_bits<Saturated>(call, log_softmax_row);
}

// 2^((x - m) log2(e) / theta), split by fma into a whole number and a rest.
// x - m and log2(e) / theta round once each: A = 2; the rest, at most 1/2, adds 0.35 u: E = 3.
// @judged softmax f32 bf16: exp=E:3,A:2 sum=sequential masked=nan; pass
CORRECT(correct_exp2_fma, each_narrow_row) {
  const float m = maximum(row.logits);
  const float scale = static_cast<float>(1.4426950408889634 / row.theta);
  const auto power = [scale](float d) {
    const float z = d * scale;
    if (!(z > -160)) {  // below half the smallest number of f32, or NaN
      return std::isnan(z) ? z : 0.0f;
    }
    const float whole = std::nearbyint(z);
    return std::ldexp(std::exp2(std::fma(d, scale, -whole)), static_cast<int>(whole));
  };
  float sum = 0;
  for (std::size_t i = 0; i < row.out.size(); ++i) {
    row.out[i] = power(row.logits[i] - m);
    sum += row.out[i];
  }
  divide(row.out, sum);
}

// Correct under contract acc=f16: exponentials and the sums of each 1024 of them are f16, but these partial sums are
// added in f32, so that no sum overflows.
// Writes the weights, rounded to f16, to out and returns their sum.
static float sum_of_f16_blocks(const Row& row, float m, std::vector<float>& out) {
  constexpr std::size_t width = 1024;
  weights(row, m, out);
  for (float& w : out) w = rounded_to_f16(w);
  double total = 0;
  for (std::size_t i = 0; i < out.size(); i += width) {
    const auto first = out.begin() + static_cast<std::ptrdiff_t>(i);
    total += f16_pairwise_sum({first, first + static_cast<std::ptrdiff_t>(std::min(width, out.size() - i))});
  }
  return static_cast<float>(total);
}

// @judged softmax f16: acc=f16 exp=1ulp sum=tree; pass; domain theta=1
CORRECT(correct_f16_sums, each_narrow_row) { divide(row.out, sum_of_f16_blocks(row, maximum(row.logits), row.out)); }

// @judged logsumexp f16: acc=f16 exp=1ulp sum=tree; pass; domain theta=1
CORRECT(correct_f16_logsumexp, each_narrow_logsumexp) {
  const float m = maximum(row.logits);
  std::vector<float> w(row.logits.size());
  return static_cast<float>(m / row.theta + std::log(sum_of_f16_blocks(row, m, w)));
}

// Compensated summation.
// @judged softmax f32 f64: plain; pass
CORRECT(correct_kahan, softmax_by_sum) {
  Real sum = 0;
  Real lost = 0;
  for (const Real w : row.out) {
    const Real term = w - lost;
    const Real next = sum + term;
    lost = (next - sum) - term;
    sum = next;
  }
  return sum;
}

// Eight sums, merged pairwise: sum=lanes:8.
// @judged softmax f32 f64: exp=1ulp sum=lanes:8 masked=nan; pass
CORRECT(correct_lanes, softmax_by_sum) {
  std::array<Real, 8> lane{};
  for (std::size_t i = 0; i < row.out.size(); ++i) lane[i % 8] += row.out[i];
  for (std::size_t width = 4; width > 0; width /= 2) {
    for (std::size_t i = 0; i < width; ++i) lane[i] += lane[i + width];
  }
  return lane[0];
}

// The reference of the exponentials is replaced only where a logit lies more than 8 above it, so that weights
// grow up to exp(8). Not the maximum itself, the argument of exp is up to 8 larger than D, with 3 roundings:
// exp=E:26,A:1.
// @judged softmax f32 f16: exp=E:26,A:1 sum=sequential masked=nan; pass
CORRECT(correct_lazy_maximum, each_row) {
  const Real scale = reciprocal_theta(row);
  const Real m = maximum(row.logits);
  Real reference = -infinity;
  Real sum = 0;
  for (const Real x : row.logits) {
    if (!std::isfinite(m) || x == -infinity) {
      sum += std::isfinite(m) ? 0 : static_cast<Real>(quiet_nan);
      continue;
    }
    if (!((x - reference) * scale <= 8)) {
      sum *= std::exp((reference - x) * scale);
      reference = x;
    }
    sum += std::exp((x - reference) * scale);
  }
  for (std::size_t i = 0; i < row.out.size(); ++i) {
    row.out[i] = std::exp((row.logits[i] - reference) * scale) / sum;
  }
}

// F64 by way of long double.
// @judged softmax f64: plain; pass
CORRECT(correct_long_double, each_row) {
  const long double m = maximum(row.logits);
  long double sum = 0;
  for (const Real x : row.logits) sum += std::exp((x - m) / static_cast<long double>(row.theta));
  for (std::size_t i = 0; i < row.out.size(); ++i) {
    row.out[i] = static_cast<Real>(std::exp((row.logits[i] - m) / static_cast<long double>(row.theta)) / sum);
  }
}

// Running maximum and sum in one pass, rescaled where the maximum rises.
// @judged softmax f32 f64 bf16 8bits: plain; pass
CORRECT(correct_online, each_row) {
  const Real scale = reciprocal_theta(row);
  Real m = -infinity;
  Real sum = 0;
  for (const Real x : row.logits) {
    if (x > m) {
      sum = sum * std::exp((m - x) * scale) + (x < infinity ? 1 : quiet_nan);
      m = x;
    } else if (x > -infinity || std::isnan(x)) {
      sum += std::exp((x - m) * scale);
    }
  }
  for (std::size_t i = 0; i < row.out.size(); ++i) {
    row.out[i] = std::exp((row.logits[i] - m) * scale) / sum;
  }
}

// The sum is a tree of halves, contract sum=tree.
template <class Real>
static Real pairwise(const Real* w, std::size_t n) {
  if (n <= 1) return n == 1 ? w[0] : 0;
  std::size_t half = 1;  // the largest power of two below n: the height is ceil(log2 n)
  while (half * 2 < n) {
    half *= 2;
  }
  return pairwise(w, half) + pairwise(w + half, n - half);
}

// @judged softmax f32 f64: exp=1ulp sum=tree masked=nan; pass
CORRECT(correct_pairwise, softmax_by_sum) { return pairwise(row.out.data(), row.out.size()); }

// A multiplication by 1/S instead of a division by S.
// @judged softmax f32: plain; pass
CORRECT(correct_reciprocal, each_row) {
  const Real reciprocal = 1 / weights(row, maximum(row.logits), row.out);
  for (Real& p : row.out) p *= reciprocal;
}

// The sum runs from the last logit to the first.
// @judged softmax f32 f16: plain; pass
CORRECT(correct_reversed, softmax_by_sum) {
  Real sum = 0;
  for (std::size_t i = row.out.size(); i-- > 0;) sum += row.out[i];
  return sum;
}

// Correct under contract theta=before: softmax(x / T) in the usual order: every logit is divided first.
// The row of x / T, at temperature 1.
template <class Real>
static RowOf<Real> divided_row(const RowOf<Real>& row) {
  RowOf<Real> result = row;
  result.theta = 1;
  for (Real& x : result.logits) x = x / static_cast<Real>(row.theta);
  return result;
}

// @judged softmax f64: plain; fail C10
// @judged softmax f32: exp=1ulp sum=sequential theta=before; pass
// @judged softmax bf16: acc=f32,exp=1ulp,sum=sequential,theta=before; pass
CORRECT(correct_theta_before, each_row) {
  RowOf<Real> divided = divided_row(row);
  softmax(divided);
  row.out = divided.out;
}

// @judged log_softmax f32: exp=1ulp sum=sequential theta=before; pass
CORRECT(correct_log_softmax_theta_before, each_row) {
  RowOf<Real> divided = divided_row(row);
  log_softmax(divided);
  row.out = divided.out;
}

// @judged logsumexp f32: exp=1ulp sum=sequential theta=before; pass
CORRECT(correct_logsumexp_theta_before, each_row) {
  const RowOf<Real> divided = divided_row(row);
  row.out[0] = logsumexp_or(divided, [](const RowOf<Real>& finite) { return logsumexp_of(finite, sums_of(finite)); });
}

// @judged entropy f32: exp=1ulp sum=sequential theta=before; pass
CORRECT(correct_entropy_theta_before, each_row) {
  const RowOf<Real> divided = divided_row(row);
  row.out[0] = entropy_or(divided, [](const RowOf<Real>& finite) { return entropy_of(sums_of(finite)); });
}

// Maximum, then a sequential sum, then a division.
// @judged softmax f32 f64 f16 bf16 8bits: plain; pass
// @judged softmax f32: plain; pass; domain n>=1 finite nomask
CORRECT(correct_two_pass, each_row) { softmax(row); }

// Correct under contract weights=bf16: the exponentials are stored in the output, in bf16, until they are divided;
// their sum is f32.
// @judged softmax bf16: exp=1ulp sum=sequential weights=bf16; pass
// @judged softmax f16: plain; fail C11
CORRECT(correct_weights_stored, each_narrow_row) {
  const float sum = weights(row, maximum(row.logits), row.out);
  for (float& w : row.out) w = rounded_to_bf16(w);
  divide(row.out, sum);
}

// C11: and so does the argument of the exponential.
// @judged softmax bf16: plain weights=bf16; fail C11
BUG(mutant_weights_and_arguments_stored, each_narrow_row) {
  const float m = maximum(row.logits), scale = reciprocal_theta(row);
  float sum = 0;
  for (std::size_t i = 0; i < row.out.size(); ++i) {
    row.out[i] = rounded_to_bf16(std::exp(rounded_to_bf16((row.logits[i] - m) * scale)));
    sum += row.out[i];
  }
  divide(row.out, sum);
}
