// Correct kernels of the gradients of softmax and log-softmax.
#include "kernels/zoo/gradient_rows.hpp"

using namespace softcheck::kernels::zoo;

// G - e^y sum g.
// @judged log_softmax_backward f32 f64 f16 bf16 8bits: plain; pass
// @judged log_softmax_backward f32: plain; pass; require in-place
// @judged log_softmax_backward f32: plain; pass; require in-place=out_gradient
CORRECT(correct_log_softmax_backward, log_softmax_gradient_by_items) {
  return row.upstream[i] - std::exp(row.saved[i]) * total;
}

// The product and the difference by one rounding.
// @judged log_softmax_backward f32: plain; pass
CORRECT(correct_log_softmax_backward_fused, log_softmax_gradient_by_items) {
  return std::fma(-std::exp(row.saved[i]), total, row.upstream[i]);
}

// The sum from the last item to the first.
// @judged log_softmax_backward f32: plain; pass
CORRECT(correct_log_softmax_backward_reversed, log_softmax_gradient_by_total) {
  Real sum = 0;
  for (std::size_t i = row.upstream.size(); i-- > 0;) sum += row.upstream[i];
  return sum;
}

// Y (g - sum y g).
// @judged softmax_backward f32 f64 f16 bf16 8bits: plain; pass
// @judged softmax_backward f32: plain; pass; require in-place
// @judged softmax_backward f32: plain; pass; require in-place=out_gradient
CORRECT(correct_softmax_backward, softmax_gradient_by_items) { return row.saved[i] * (row.upstream[i] - mean); }

// G y - y sum y g, as ATen's CUDA kernel has it, with its products in the accumulator.
// @judged softmax_backward f32: plain; pass
CORRECT(correct_softmax_backward_expanded, softmax_gradient_by_items) {
  return row.saved[i] * row.upstream[i] - row.saved[i] * mean;
}

// Fused multiply-adds in the sum and in the difference.
// @judged softmax_backward f32: plain; pass
CORRECT(correct_softmax_backward_fused, each_softmax_gradient) {
  auto mean = Real(0);
  for (std::size_t i = 0; i < row.saved.size(); ++i) mean = std::fma(row.saved[i], row.upstream[i], mean);
  for (std::size_t i = 0; i < row.out.size(); ++i) {
    row.out[i] = std::fma(row.saved[i], row.upstream[i], -(row.saved[i] * mean));
  }
}

// Correct under products=bf16: like ATen's CUDA kernel, which stores g y in the tensor's type before it adds.
// @judged softmax_backward bf16: sum=sequential products=bf16; pass
// @judged softmax_backward bf16: sum=sequential; fail gradient
CORRECT(correct_softmax_backward_products_stored, each_softmax_gradient) {
  auto products = row.out;
  auto mean = Real(0);
  for (std::size_t i = 0; i < row.out.size(); ++i) {
    products[i] = stored_in_bf16(row.saved[i] * row.upstream[i]);
    mean += products[i];
  }
  for (std::size_t i = 0; i < row.out.size(); ++i) row.out[i] = products[i] - row.saved[i] * mean;
}
