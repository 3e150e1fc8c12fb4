// Bugs of a linear layer's loss and its gradient: chunks, labels, ignored rows and narrow formats.
#include "kernels/zoo/linear_losses.hpp"

using namespace softcheck::kernels::zoo;

// The last chunk of classes is lost if it is not full.
// @judged linear_cross_entropy f32 bf16: plain; fail C5
BUG(mutant_linear_cross_entropy_class_tail_lost, linear_loss) {
  const std::size_t whole = a.classes / a.tile * a.tile;
  put_losses(a, [&](std::size_t r) {
    std::vector<Real> x = a.logits(r);
    const Real target = x[a.label(r)];
    if (whole > 0) x.resize(whole);
    const auto sum = sum_of(x);
    return std::log(sum.s) + (sum.m - target);
  });
}

// A chunk's maximum replaces the running one, but the sum so far is not rescaled.
// @judged linear_cross_entropy f32: plain; fail C9; LayoutsAndNeighboursDoNotMatter
BUG(mutant_linear_cross_entropy_maximum_not_merged, linear_loss) {
  put_losses(a, [&](std::size_t r) {
    RunningLogits<Real> all;
    for (std::size_t j = 0; j < a.classes; ++j) all.add(a.logit(r, j), j < a.tile);
    return all.lse() - a.logit(r, a.label(r));
  });
}

// The label's logit is read from the first chunk of classes, and is 0 for a label in another one.
// @judged linear_cross_entropy f32: plain; fail C10; LayoutsAndNeighboursDoNotMatter
// @judged linear_cross_entropy f16: plain; fail C10
BUG(mutant_linear_cross_entropy_label_in_another_chunk, linear_loss) {
  put_losses(a, [&](std::size_t r) {
    const std::vector<Real> x = a.logits(r);
    return sum_of(x).lse() - (a.label(r) < a.tile ? x[a.label(r)] : Real(0));
  });
}

// Ignored rows have the loss of the first class.
// @judged linear_cross_entropy f32: plain; fail C10; kernel.masked_row
BUG(mutant_linear_cross_entropy_ignored_counted, linear_loss) {
  for (std::size_t r = 0; r < a.rows && a.classes > 0; ++r) a.loss[r] = loss_of(a.logits(r), a.label(r));
}

// Logits are stored in bf16, which the contract does not say: Liger's matmul of an f32 layer under autocast.
// @judged linear_cross_entropy f32: plain; fail C12
// @judged linear_cross_entropy bf16: plain; fail C12
BUG(mutant_linear_cross_entropy_logits_in_bf16, linear_loss) {
  put_losses(a, [&](std::size_t r) {
    std::vector<Real> x = a.logits(r);
    for (Real& v : x) v = rounded_to_bf16(static_cast<float>(v));
    return loss_of(x, a.label(r));
  });
}

// The second chunk of rows reads the labels of the first one.
// @judged linear_cross_entropy f32: plain; fail C10; domain noignored
BUG(mutant_linear_cross_entropy_labels_of_first_chunk, linear_loss) {
  const std::vector<std::int64_t> labels = a.labels;
  for (std::size_t r = 8; r < a.rows; ++r) a.labels[r] = labels[r % 8];
  put_losses(a);
}

// No maximum is subtracted.
// @judged linear_cross_entropy f32: plain; fail C4
BUG(mutant_linear_cross_entropy_no_maximum, linear_loss) {
  put_losses(a, [&](std::size_t r) {
    Real s = 0;
    for (std::size_t j = 0; j < a.classes; ++j) s += std::exp(a.logit(r, j));
    return std::log(s) - a.logit(r, a.label(r));
  });
}

// The dimension is cut to a multiple of 8.
// @judged linear_cross_entropy f32: plain; fail C5
BUG(mutant_linear_cross_entropy_dimension_tail_lost, linear_loss) {
  for (std::size_t k = 0; k < a.hidden.size() && a.dim > 8; ++k) {
    if (k % a.dim >= a.dim / 8 * 8) a.hidden[k] = 0;
  }
  put_losses(a);
}

// A loss below 2^-10 is returned as 0.
// @judged linear_cross_entropy f32: plain; fail C12
BUG(mutant_linear_cross_entropy_small_losses_lost, linear_loss) {
  put_losses(a);
  for (Real& loss : a.loss) loss = loss < Real(0x1p-10) ? Real(0) : loss;
}

// The weights' gradient is that of the last chunk of rows.
// @judged linear_cross_entropy_backward f32: plain; fail C9; dweight
BUG(mutant_linear_cross_entropy_backward_last_row_chunk, linear_gradient) {
  LinearLoss<Real> last = a;
  for (std::size_t r = 0; a.rows > 0 && r < (a.rows - 1) / 4 * 4; ++r) last.labels[r] = a.ignore_index;
  put_gradients(a);
  put_gradients(last);
  a.dweight = last.dweight;
}

// Upstream is applied in the forward pass and again in the backward pass.
// @judged linear_cross_entropy_backward f32 bf16: plain; fail C10; dhidden
BUG(mutant_linear_cross_entropy_backward_upstream_twice, linear_gradient) {
  for (Real& g : a.upstream) g *= g;
  put_gradients(a);
}

// Every row has the upstream gradient of the first one (Liger 968, 1298).
// @judged linear_cross_entropy_backward f32: plain; fail C10; dhidden
BUG(mutant_linear_cross_entropy_backward_first_upstream, linear_gradient) {
  for (Real& g : a.upstream) g = a.upstream[0];
  put_gradients(a);
}

// The label is subtracted only if it is in the first chunk of classes.
// @judged linear_cross_entropy_backward f32: plain; fail C10; dhidden
BUG(mutant_linear_cross_entropy_backward_label_in_another_chunk, linear_gradient) {
  put_gradients(
      a, [&](std::size_t r, std::size_t j, Real p) { return j < a.tile ? slope_of(a, r, j, p) : a.upstream[r] * p; });
}

// Ignored rows add their gradient to that of the weights.
// @judged linear_cross_entropy_backward f32: plain; fail C10; dweight
BUG(mutant_linear_cross_entropy_backward_ignored_counted, linear_gradient) {
  LinearLoss<Real> all = a;
  all.ignore_index = -1;
  put_gradients(all);
  put_gradients(a);
  a.dweight = all.dweight;
}

// The weights' gradient is accumulated in bf16 (Liger 512, 830).
// @judged linear_cross_entropy_backward bf16: plain; fail C12; dweight
BUG(mutant_linear_cross_entropy_backward_bf16_accumulator, linear_gradient) {
  std::vector<Real> sum(a.dweight.size());
  for (std::size_t row = 0; row < a.rows; ++row) {
    LinearLoss<Real> one = a;
    for (std::size_t r = 0; r < a.rows; ++r) {
      if (r != row) one.labels[r] = a.ignore_index;
    }
    put_gradients(one);
    for (std::size_t k = 0; k < sum.size(); ++k) sum[k] = rounded_to_bf16(static_cast<float>(sum[k] + one.dweight[k]));
  }
  put_gradients(a);
  a.dweight = sum;
}

// Each chunk of classes is divided by its own sum.
// @judged linear_cross_entropy_backward f32: plain; fail C9; dhidden
BUG(mutant_linear_cross_entropy_backward_sum_of_chunk, linear_gradient) {
  for (std::size_t r = 0; r < a.rows; ++r) {
    if (a.ignored(r)) continue;
    const std::vector<Real> x = a.logits(r);
    for (std::size_t first = 0; first < a.classes; first += a.tile) {
      const std::size_t last = std::min(first + a.tile, a.classes);
      const auto sum = sum_of(std::vector<Real>(x.begin() + static_cast<std::ptrdiff_t>(first),
                                                x.begin() + static_cast<std::ptrdiff_t>(last)));
      for (std::size_t j = first; j < last; ++j) a.add(r, j, slope_of(a, r, j, std::exp(x[j] - sum.m) / sum.s));
    }
  }
}

// Coefficients below 2^-12 are left out (cut cross-entropy's filter of gradients).
// @judged linear_cross_entropy_backward f32: plain; fail C12; dhidden|dweight
BUG(mutant_linear_cross_entropy_backward_filtered, linear_gradient) {
  put_gradients(a, [&](std::size_t r, std::size_t j, Real p) {
    return p < Real(0x1p-12) && !a.hits(r, j) ? Real(0) : slope_of(a, r, j, p);
  });
}

// p - [j = y] is stored in bf16, which the contract does not say.
// @judged linear_cross_entropy_backward f32 bf16: plain; fail C12; dhidden
BUG(mutant_linear_cross_entropy_backward_ds_in_bf16, linear_gradient) {
  put_gradients(a, [&](std::size_t r, std::size_t j, Real p) {
    return a.upstream[r] * static_cast<Real>(rounded_to_bf16(static_cast<float>(a.hits(r, j) ? p - 1 : p)));
  });
}

// The gradients of the last, incomplete chunk of classes are not written.
// @judged linear_cross_entropy_backward f32: plain; fail C5; dweight
BUG(mutant_linear_cross_entropy_backward_class_tail_lost, linear_gradient) {
  put_gradients(a);
  const std::size_t whole = a.classes / a.tile * a.tile;
  if (whole > 0) std::fill(a.dweight.begin() + static_cast<std::ptrdiff_t>(whole * a.dim), a.dweight.end(), Real(0));
}
