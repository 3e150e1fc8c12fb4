// Correct kernels of log-softmax and log-sum-exp.
#include <array>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

// Correct under contract sum=sequential: rows shorter than 64 are added one by one and longer ones in 16 lanes, so that
// no single number of lanes is right; torch's log-softmax changes at 16.
// Writes the row's weights and returns their sum: one after the other in short rows, in sixteen lanes from 64 on.
static float weights_in_lanes(Row& row, float maximum_of_row) {
  const float sum = weights(row, maximum_of_row, row.out);
  if (row.out.size() < 64) return sum;
  std::array<float, 16> lanes{};
  for (std::size_t i = 0; i < row.out.size(); ++i) lanes[i % 16] += row.out[i];
  for (std::size_t width = 8; width >= 1; width /= 2) {
    for (std::size_t i = 0; i < width; ++i) lanes[i] += lanes[i + width];
  }
  return lanes[0];
}

// @judged log_softmax f32: exp=1ulp sum=sequential; pass
CORRECT(correct_log_softmax_lanes_from_64, each_narrow_row) {
  const float m = maximum(row.logits);
  const float sum = weights_in_lanes(row, m);
  const float log_sum = std::log(sum);
  for (std::size_t i = 0; i < row.out.size(); ++i) {
    row.out[i] = static_cast<float>((row.logits[i] - m) / row.theta - log_sum);
  }
}

// @judged softmax f32: exp=1ulp sum=sequential; pass
CORRECT(correct_softmax_lanes_from_64, each_narrow_row) {
  const float m = maximum(row.logits);
  const float sum = weights_in_lanes(row, m);
  divide(row.out, sum);
}

// X - max - ln S.
// @judged log_softmax f32 f64 bf16 8bits: plain; pass
CORRECT(correct_log_softmax, each_row) { log_softmax(row); }

// Correct under contract lse=uncentred: x - (max + ln S). At theta = 1 only: a quotient max / theta that overflows
// leaves nothing of x - lse.
// @judged log_softmax f32: plain lse=uncentred; pass|vacuous
CORRECT(correct_log_softmax_uncentred, each_row_at_theta_1) {
  const Real m = maximum(row.logits);
  const Real lse = m + std::log(weights(row, m, row.out));
  for (std::size_t i = 0; i < row.out.size(); ++i) row.out[i] = row.logits[i] - lse;
}

// M / theta + ln S.
// @judged logsumexp f32 f64 8bits: plain; pass
// @judged logsumexp f32: plain infinity=limit; pass
CORRECT(correct_logsumexp, each_logsumexp) {
  const Sums<Real> sums = sums_of(row);
  // In double: if ln S cancels m / theta, the quotient's rounding error would be all that is left.
  return static_cast<Real>(sums.maximum / row.theta + std::log(static_cast<double>(sums.weights)));
}

// One pass, the sum rescaled where the maximum rises.
// @judged logsumexp f32 f16: plain; pass
CORRECT(correct_logsumexp_online, each_row) {
  const Real scale = reciprocal_theta(row);
  row.out[0] = logsumexp_or(row, [scale](const RowOf<Real>& finite) {
    Sums<Real> sums{-infinity, 0, 0};
    for (const Real x : finite.logits) {
      if (x > sums.maximum) {
        sums.weights = sums.weights * std::exp((sums.maximum - x) * scale) + 1;
        sums.maximum = x;
      } else if (x > -infinity) {
        sums.weights += std::exp((x - sums.maximum) * scale);
      }
    }
    return static_cast<Real>(sums.maximum / finite.theta + std::log(static_cast<double>(sums.weights)));
  });
}

// Correct under contract total=bf16, and wrong under the default: torch's log-softmax along the last axis of bf16 and
// f16 rounds S to 16 bits before its logarithm is taken. (0, -7) gives 0.
// x - m - log_of(S).
template <class LogOf>
static void log_softmax_by(Row& row, LogOf log_of) {
  const float m = maximum(row.logits);
  const float log_sum = log_of(weights(row, m, row.out));
  for (std::size_t i = 0; i < row.out.size(); ++i) {
    row.out[i] = static_cast<float>((row.logits[i] - m) / row.theta - log_sum);
  }
}

// @judged log_softmax bf16: exp=1ulp sum=sequential total=bf16; pass
// @judged log_softmax f16: plain; fail C11
CORRECT(correct_log_softmax_total_stored, each_narrow_row) {
  log_softmax_by(row, [](float sum) { return std::log(rounded_to_bf16(sum)); });
}

// @judged softmax bf16: exp=1ulp sum=sequential total=bf16; pass
// @judged softmax f16: plain; fail C11
CORRECT(correct_softmax_total_stored, each_narrow_row) {
  divide(row.out, rounded_to_bf16(weights(row, maximum(row.logits), row.out)));
}

// C11: S - 1 is truncated to a multiple of 1/32, below a place of bf16's.
// @judged log_softmax bf16: plain total=bf16; fail C11
BUG(mutant_log_softmax_total_truncated, each_narrow_row) {
  log_softmax_by(row, [](float sum) { return std::log(std::floor(sum * 32) / 32); });
}

// Correct; a temperature other than 1 is refused.
// @judged log_softmax f32: plain; pass
CORRECT(correct_without_theta, each_row_at_theta_1) { log_softmax(row); }
