// Correct kernels of a linear layer's loss and its gradient.
#include "kernels/zoo/linear_losses.hpp"

using namespace softcheck::kernels::zoo;

// All logits of a row, then their loss.
// @judged linear_cross_entropy f32 f64 f16 bf16 8bits: plain; pass
// @judged linear_cross_entropy f32: plain; pass; domain noignored
CORRECT(correct_linear_cross_entropy, linear_loss) { put_losses(a); }

// Chunks of the classes, with a running maximum; the label's logit where its chunk comes by (cut cross-entropy).
// @judged linear_cross_entropy f32 bf16: plain; pass
CORRECT(correct_linear_cross_entropy_of_class_chunks, linear_loss) {
  put_losses(a, [&](std::size_t r) {
    RunningLogits<Real> all;
    Real target = 0;
    for (std::size_t first = 0; first < a.classes; first += a.tile) {
      for (std::size_t j = first; j < std::min(first + a.tile, a.classes); ++j) {
        const Real x = a.logit(r, j);
        all.add(x);
        if (a.hits(r, j)) target = x;
      }
    }
    return std::log(all.s) + (all.m - target);
  });
}

// Chunks of the rows (torchtune): the logits of a chunk, then L - x_y of each of its rows.
// @judged linear_cross_entropy f32 f16: plain lse=uncentred; pass
CORRECT(correct_linear_cross_entropy_of_row_chunks, linear_loss) {
  for (std::size_t first = 0; first < a.rows; first += a.tile) {
    const std::size_t last = std::min(first + a.tile, a.rows);
    std::vector<std::vector<Real>> logits;
    for (std::size_t r = first; r < last; ++r) logits.push_back(a.logits(r));
    for (std::size_t r = first; r < last; ++r) {
      const std::vector<Real>& x = logits[r - first];
      if (!a.ignored(r)) a.loss[r] = sum_of(x).lse() - x[a.label(r)];
    }
  }
}

// Four partial dot products, and the classes backwards.
// @judged linear_cross_entropy f32: plain; pass
CORRECT(correct_linear_cross_entropy_backwards, linear_loss) {
  put_losses(a, [&](std::size_t r) {
    std::vector<Real> x(a.classes);
    for (std::size_t j = 0; j < a.classes; ++j) {
      Real part[4] = {};
      for (std::size_t t = a.dim; t-- > 0;) part[t % 4] += a.weight[j * a.dim + t] * a.hidden[r * a.dim + t];
      x[a.classes - 1 - j] = part[0] + part[1] + (part[2] + part[3]);
    }
    return loss_of(x, a.classes - 1 - a.label(r));
  });
}

// Logits in 16 bits, as a linear layer returns them.
// @judged linear_cross_entropy bf16: plain scores=bf16; pass
CORRECT(correct_linear_cross_entropy_bf16_logits, linear_loss) {
  put_losses(a, [&](std::size_t r) {
    std::vector<Real> x = a.logits(r);
    for (Real& v : x) v = rounded_to_bf16(static_cast<float>(v));
    return loss_of(x, a.label(r));
  });
}

// upstream (p - [j = y]) of each pair of a row and a class.
// @judged linear_cross_entropy_backward f32 f64 f16 bf16 8bits: plain; pass
// @judged linear_cross_entropy_backward f32: plain; pass; domain noignored
CORRECT(correct_linear_cross_entropy_backward, linear_gradient) { put_gradients(a); }

// A pass for the log-sum-exps, then chunks of the classes, whose logits are computed again (cut cross-entropy).
// @judged linear_cross_entropy_backward f32 bf16: plain; pass
CORRECT(correct_linear_cross_entropy_backward_of_class_chunks, linear_gradient) {
  std::vector<Real> lse;
  for (std::size_t r = 0; r < a.rows; ++r) {
    RunningLogits<Real> all;
    for (std::size_t j = 0; j < a.classes; ++j) all.add(a.logit(r, j));
    lse.push_back(all.lse());
  }
  for (std::size_t first = 0; first < a.classes; first += a.tile) {
    for (std::size_t j = first; j < std::min(first + a.tile, a.classes); ++j) {
      for (std::size_t r = 0; r < a.rows; ++r) {
        if (!a.ignored(r)) a.add(r, j, slope_of(a, r, j, std::exp(a.logit(r, j) - lse[r])));
      }
    }
  }
}

// The forward pass stores p - [j = y] over its chunk of logits in 16 bits (Liger); upstream comes last.
// @judged linear_cross_entropy_backward bf16: plain ds=bf16; pass
CORRECT(correct_linear_cross_entropy_backward_in_forward, linear_gradient) {
  put_gradients(a, [&](std::size_t r, std::size_t j, Real p) {
    return a.upstream[r] * static_cast<Real>(rounded_to_bf16(static_cast<float>(a.hits(r, j) ? p - 1 : p)));
  });
}

// upstream (p - [j = y]) in 16 bits, as a matmul reads it.
// @judged linear_cross_entropy_backward bf16: plain ds=bf16; pass
CORRECT(correct_linear_cross_entropy_backward_bf16_slopes, linear_gradient) {
  put_gradients(a, [&](std::size_t r, std::size_t j, Real p) {
    return static_cast<Real>(rounded_to_bf16(static_cast<float>(slope_of(a, r, j, p))));
  });
}

// Upstream times p, less upstream at the label; chunks of the rows, and their partial sums of the weights' gradient.
// @judged linear_cross_entropy_backward f32 f16: plain; pass
CORRECT(correct_linear_cross_entropy_backward_of_row_chunks, linear_gradient) {
  const LinearLoss<Real> whole = a;
  for (std::size_t first = 0; first < a.rows; first += 4) {
    LinearLoss<Real> part = whole;
    for (std::size_t r = 0; r < a.rows; ++r) {
      if (r < first || r >= first + 4) part.labels[r] = a.ignore_index;
    }
    put_gradients(part, [&](std::size_t r, std::size_t j, Real p) {
      return a.hits(r, j) ? a.upstream[r] * p - a.upstream[r] : a.upstream[r] * p;
    });
    for (std::size_t k = 0; k < a.dweight.size(); ++k) a.dweight[k] += part.dweight[k];
    for (std::size_t k = 0; k < a.dhidden.size(); ++k) a.dhidden[k] += part.dhidden[k];
  }
}
