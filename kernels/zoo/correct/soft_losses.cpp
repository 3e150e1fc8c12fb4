// Correct kernels of the cross-entropy of targets (soft labels) and its gradient.
#include "kernels/zoo/loss_rows.hpp"

using namespace softcheck::kernels::zoo;

// - sum q ln p, as torch has it.
// @judged soft_cross_entropy f32 f64 f16 bf16 8bits: plain; pass
// @judged soft_cross_entropy f32: plain theta=before; pass; domain temperature
CORRECT(correct_soft_cross_entropy, each_soft_loss) { put_soft_loss(row); }

// L sum q - sum q x, in one online pass.
// @judged soft_cross_entropy f32: plain lse=uncentred; pass
CORRECT(correct_soft_cross_entropy_online, each_soft_loss) {
  auto m = row.logits[0], s = Real(0), mass = Real(0), dot = Real(0);
  for (std::size_t j = 0; j < row.logits.size(); ++j) {
    const auto x = row.logits[j];
    if (x > m) {
      s *= std::exp(m - x);
      m = x;
    }
    s += std::exp(x - m);
    mass += row.targets[j];
    dot += row.targets[j] * x;
  }
  const auto lse = m + std::log(s);
  row.out[0] = mass * lse - dot + row.z * lse * lse;
}

// Upstream ((sum q + 2 z L) p - q).
// @judged soft_cross_entropy_backward f32 f64 f16 bf16 8bits: plain; pass
// @judged soft_cross_entropy_backward f32: plain theta=before; pass; domain temperature
CORRECT(correct_soft_cross_entropy_backward, each_soft_gradient) { put_soft_gradient(row, usual_alpha); }

// From the last class to the first, each term times upstream.
// @judged soft_cross_entropy_backward f32: plain; pass
CORRECT(correct_soft_cross_entropy_backward_of_terms, each_soft_gradient) {
  const auto m = row.maximum();
  auto s = Real(0), mass = Real(0);
  for (std::size_t j = row.logits.size(); j-- > 0;) {
    s += std::exp(row.logits[j] - m);
    mass += row.targets[j];
  }
  const auto alpha = mass + 2 * row.z * (m + std::log(s));
  for (std::size_t j = row.out.size(); j-- > 0;) {
    const auto p = std::exp(row.logits[j] - m) / s;
    row.out[j] = (row.upstream * (alpha * p) - row.upstream * row.targets[j]) * row.cap_slope(j);
  }
}

// A temperature that divides x - m: the logits themselves are not scaled.
// @judged cross_entropy f32: plain; pass; domain temperature nosmoothing noweights nozloss
CORRECT(correct_cross_entropy_fused_temperature, each_counted_loss) {
  const auto m = *std::max_element(row.raw.begin(), row.raw.end());
  auto s = Real(0);
  for (const auto x : row.raw) s += std::exp((x - m) / row.theta);
  row.out[0] = std::log(s) - (row.raw[row.class_of_label()] - m) / row.theta;
}
