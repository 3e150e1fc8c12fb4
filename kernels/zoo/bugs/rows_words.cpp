// Bugs of kernels that declare a word of their own for what they compute.

#include "kernels/zoo/gradient_rows.hpp"
#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

// C11: differences are stored in 8 bits, two of them of the fraction.
// @judged softmax f32: plain differences=bf16; fail C11
BUG(mutant_differences_in_8_bits, softmax_by_narrow_weights) {
  using namespace softcheck::kernels::arithmetic;
  const float difference = byte_to_f32(byte_formats[1], f32_to_byte(byte_formats[1], row.logits[i] - m));
  return std::exp(difference * reciprocal_theta(row));
}

// C11: logits and maximum are stored, not their difference, which is then only as accurate as they are.
// @judged softmax f32: plain differences=bf16; fail C11
BUG(mutant_logits_stored_before_difference, softmax_by_narrow_weights) {
  return std::exp((rounded_to_bf16(row.logits[i]) - rounded_to_bf16(m)) * reciprocal_theta(row));
}

// C11: exponentials and 1 / S in f16, and so is their running sum, which stops growing at 2048.
// @judged softmax f16: plain weights=f16 total=f16; fail C11
BUG(mutant_f16_weights_and_running_sum, each_narrow_row) {
  weights(row, maximum(row.logits), row.out);
  float sum = 0;
  for (float& w : row.out) {
    w = rounded_to_f16(w);
    sum = rounded_to_f16(sum + w);
  }
  for (float& w : row.out) w *= rounded_to_f16(1 / sum);
}

// C11: 1 / S in bf16.
// @judged softmax f16: plain weights=f16 total=f16; fail C11
BUG(mutant_reciprocal_in_bf16, each_narrow_row) {
  const float sum = weights(row, maximum(row.logits), row.out);
  for (float& w : row.out) w *= rounded_to_bf16(1 / sum);
}

// C3: the argument of the exponential is at least -20.
// @judged softmax f32: plain exp_floor=2^-126; fail C3
BUG(mutant_least_argument_20, softmax_by_narrow_weights) {
  return std::exp(std::max((row.logits[i] - m) * reciprocal_theta(row), -20.0f));
}

// C12: the floor of the argument takes NaN's place.
// @judged softmax f32: plain exp_floor=2^-126; fail C12; ANanLogitMakesItsRowNan
BUG(mutant_floor_takes_nan, softmax_by_narrow_weights) {
  return std::exp(std::fmax((row.logits[i] - m) * reciprocal_theta(row), -87.34f));
}

// The Jacobian matrix is stored in bf16.
// @judged softmax_backward f32: plain gradient=jacobian; fail gradient; domain n<=512
BUG(mutant_softmax_backward_jacobian_stored, each_softmax_gradient) {
  for (std::size_t i = 0; i < row.out.size(); ++i) {
    row.out[i] = 0;
    for (std::size_t j = 0; j < row.out.size(); ++j) {
      row.out[i] += stored_in_bf16((i == j ? row.saved[i] : 0) - row.saved[i] * row.saved[j]) * row.upstream[j];
    }
  }
}

// Only the lower triangle of the Jacobian matrix is there.
// @judged softmax_backward f32: plain gradient=jacobian; fail gradient; domain n<=512
BUG(mutant_softmax_backward_lower_triangle, each_softmax_gradient) {
  for (std::size_t i = 0; i < row.out.size(); ++i) {
    row.out[i] = row.saved[i] * row.upstream[i];
    for (std::size_t j = 0; j <= i; ++j) row.out[i] -= row.saved[i] * row.saved[j] * row.upstream[j];
  }
}

// C2: the running total begins at 0.
// @judged logsumexp f32: plain lse=running; fail C2
BUG(mutant_running_logsumexp_from_0, each_logsumexp) {
  Real total = 0;
  for (const Real x : row.logits) {
    const Real y = x * reciprocal_theta(row), larger = std::max(y, total);
    total = larger + std::log1p(std::exp(std::min(y, total) - larger));
  }
  return total;
}

// C4: the running total is added to as a number.
// @judged logsumexp f32: plain lse=running; fail C4
BUG(mutant_running_logsumexp_overflows, each_logsumexp) {
  Real total = -infinity;
  for (const Real x : row.logits) total = std::log(std::exp(total) + std::exp(x * reciprocal_theta(row)));
  return total;
}
