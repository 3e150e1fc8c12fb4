// Correct kernels whose arithmetic needs a word of its own.
#include <numbers>

#include "kernels/zoo/gradient_rows.hpp"
#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

// Correct under contract differences=bf16: as gpt-oss, it stores x - max before the exponential.
// @judged softmax bf16 f32: plain differences=bf16; pass
// @judged softmax bf16 f32: plain; fail C11
CORRECT(correct_differences_stored, each_narrow_row) {
  const float m = maximum(row.logits), scale = reciprocal_theta(row);
  float sum = 0;
  for (std::size_t i = 0; i < row.out.size(); ++i) {
    row.out[i] = std::exp(rounded_to_bf16(row.logits[i] - m) * scale);
    sum += row.out[i];
  }
  divide(row.out, sum);
}

// The same in f16.
// @judged log_softmax f16: plain differences=f16; pass; domain theta=1
CORRECT(correct_log_softmax_of_stored_differences, each_narrow_row) {
  const float m = maximum(row.logits), scale = reciprocal_theta(row);
  float sum = 0;
  for (std::size_t i = 0; i < row.out.size(); ++i) {
    row.out[i] = rounded_to_f16(row.logits[i] - m) * scale;
    sum += std::exp(row.out[i]);
  }
  for (float& x : row.out) x -= std::log(sum);
}

// Exponentials and 1 / S in f16, their sum in f32: weights=f16 total=f16.
// @judged softmax f16 f32: plain weights=f16 total=f16 subnormal=kept; pass; domain n<=16384
// @judged softmax f16: plain; fail C11
CORRECT(correct_f16_weights_and_reciprocal, each_narrow_row) {
  weights(row, maximum(row.logits), row.out);
  float sum = 0;
  for (float& w : row.out) {
    w = rounded_to_f16(w);
    sum += w;
  }
  for (float& w : row.out) w *= rounded_to_f16(1 / sum);
}

// The argument of the exponential is at least ln 2^-126, so that no weight is subnormal or 0, that of -inf included.
// @judged softmax f32: plain exp_floor=2^-126; pass
// @judged softmax f32: plain; fail C3
CORRECT(correct_least_exponential, each_narrow_row) {
  const float m = maximum(row.logits), scale = reciprocal_theta(row);
  float sum = 0;
  for (std::size_t i = 0; i < row.out.size(); ++i) {
    row.out[i] = std::exp(std::max((row.logits[i] - m) * scale, -87.34f));
    sum += row.out[i];
  }
  divide(row.out, sum);
}

// The Jacobian matrix, row by row, times the upstream gradient.
// @judged softmax_backward f32 f64 bf16: plain gradient=jacobian; pass; domain n<=512
// @judged softmax_backward f32: plain; fail gradient; EveryPairOfClassesIsComputed; domain n<=512
CORRECT(correct_softmax_backward_jacobian, each_softmax_gradient) {
  for (std::size_t i = 0; i < row.out.size(); ++i) {
    Real sum = 0;
    for (std::size_t j = 0; j < row.out.size(); ++j) {
      sum += ((i == j ? row.saved[i] : 0) - row.saved[i] * row.saved[j]) * row.upstream[j];
    }
    row.out[i] = sum;
  }
}

// A running total of logarithms, as in logcumsumexp.
// @judged logsumexp f32 bf16: plain lse=running; pass
// @judged logsumexp f32: plain; fail C2
CORRECT(correct_running_logsumexp, each_logsumexp) {
  const Real scale = reciprocal_theta(row);
  Real total = -infinity;
  for (const Real x : row.logits) {
    const Real y = x * scale, larger = y > total ? y : total, less = y > total ? total : y;
    if (larger == -infinity) continue;
    total = larger + (less == larger ? std::numbers::ln2_v<Real> : std::log1p(std::exp(less - larger)));
  }
  return total;
}

// The log-sum-exp in base 2.
// @judged logsumexp f32 f64: plain lse=base2; pass
// @judged logsumexp f32: plain; fail C2
CORRECT(correct_base2_logsumexp, each_logsumexp) {
  return logsumexp_of(row, sums_of(row)) * std::numbers::log2e_v<Real>;
}
