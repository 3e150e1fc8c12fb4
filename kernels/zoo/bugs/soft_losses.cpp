// Bugs in the cross-entropy of targets (soft labels) and its gradient.
#include "kernels/zoo/loss_rows.hpp"

using namespace softcheck::kernels::zoo;

// NVIDIA-NeMo/Automodel 2428: the gradient is p - q, as if the targets added up to 1.
// @judged soft_cross_entropy_backward f32 bf16: plain; fail loss
BUG(mutant_soft_cross_entropy_backward_unit_mass, each_soft_gradient) {
  put_soft_gradient(row, [](const auto&) { return Real(1); });
}

// The loss is L - sum q x: the same assumption.
// @judged soft_cross_entropy f32: plain; fail loss
BUG(mutant_soft_cross_entropy_unit_mass, each_soft_loss) {
  const auto m = row.maximum(), log = std::log(row.sum(m)), lse = m + log;
  auto dot = Real(0);
  for (std::size_t j = 0; j < row.logits.size(); ++j) dot += row.targets[j] * (row.logits[j] - m);
  row.out[0] = log - dot + row.z * lse * lse;
}

// The targets are divided by their sum.
// @judged soft_cross_entropy f32: plain; fail loss
BUG(mutant_soft_cross_entropy_normalises_targets, each_soft_loss) {
  const auto mass = mass_of(row);
  for (auto& q : row.targets) q = mass == 0 ? q : q / mass;
  put_soft_loss(row);
}

// Only the likeliest target counts, as if it were a label.
// @judged soft_cross_entropy f32: plain; fail loss
BUG(mutant_soft_cross_entropy_of_largest_target, each_soft_loss) {
  const auto most = std::max_element(row.targets.begin(), row.targets.end());
  for (auto q = row.targets.begin(); q != row.targets.end(); ++q) *q = q == most ? *q : 0;
  put_soft_loss(row);
}

// The mean over the classes instead of the sum.
// @judged soft_cross_entropy f32: plain; fail loss
BUG(mutant_soft_cross_entropy_mean, each_soft_loss) {
  for (auto& q : row.targets) q /= row.classes();
  put_soft_loss(row);
}

// The divergence: the targets' entropy is subtracted.
// @judged soft_cross_entropy f32: plain; fail loss
BUG(mutant_soft_cross_entropy_divergence, each_soft_loss) {
  put_soft_loss(row);
  for (const auto q : row.targets) row.out[0] += q > 0 ? q * std::log(q) : 0;
}

// The logarithm of p + 1e-10, which bounds the loss of a class.
// @judged soft_cross_entropy f32: plain; fail loss
BUG(mutant_soft_cross_entropy_epsilon, each_soft_loss) {
  const auto m = row.maximum(), s = row.sum(m), lse = m + std::log(s);
  row.out[0] = row.z * lse * lse;
  for (std::size_t j = 0; j < row.logits.size(); ++j) {
    row.out[0] -= row.targets[j] * std::log(std::exp(row.logits[j] - m) / s + Real(1e-10));
  }
}

// The z-loss has no gradient.
// @judged soft_cross_entropy_backward f32: plain; fail loss
BUG(mutant_soft_cross_entropy_backward_drops_z_loss, each_soft_gradient) {
  row.z = 0;
  put_soft_gradient(row, usual_alpha);
}

// The gradient by the logits after the softcap.
// @judged soft_cross_entropy_backward f32: plain; fail loss
BUG(mutant_soft_cross_entropy_backward_capped_logits, each_soft_gradient) {
  row.cap = 0;
  put_soft_gradient(row, usual_alpha);
}

// ServiceNow/Fast-LLM 228: the gradient is by the scaled logits.
// @judged cross_entropy_backward f32: plain theta=before; fail loss; domain temperature
BUG(mutant_cross_entropy_backward_of_scaled_logits, changed_loss_gradients) { row.upstream *= row.theta; }

// ServiceNow/Fast-LLM 228: the label's logit is not scaled.
// @judged cross_entropy f32: plain theta=before; fail loss; domain temperature
BUG(mutant_cross_entropy_unscaled_target, each_counted_loss) {
  const auto m = row.maximum(), log = std::log(row.sum(m));
  row.out[0] = row.loss(m, log) + row.logits[row.class_of_label()] - row.raw[row.class_of_label()];
}

// MoonshotAI/Kimi-Audio 161: the temperature divides the log-probabilities.
// @judged soft_cross_entropy f32: plain theta=before; fail loss; domain temperature
BUG(mutant_soft_cross_entropy_temperature_of_logarithms, each_soft_loss) {
  row.logits = row.raw;
  for (auto& q : row.targets) q /= row.theta;
  put_soft_loss(row);
}

// The targets of the next class.
// @judged soft_cross_entropy_backward f32: plain; fail loss
BUG(mutant_soft_cross_entropy_backward_shifted, each_soft_gradient) {
  std::rotate(row.targets.begin(), row.targets.begin() + 1, row.targets.end());
  put_soft_gradient(row, usual_alpha);
}

// Upstream multiplies p alone.
// @judged soft_cross_entropy_backward f32: plain; fail loss
BUG(mutant_soft_cross_entropy_backward_upstream_of_p, each_soft_gradient) {
  const auto m = row.maximum(), s = row.sum(m), alpha = mass_of(row) + 2 * row.z * (m + std::log(s));
  for (std::size_t j = 0; j < row.out.size(); ++j) {
    const auto p = std::exp(row.logits[j] - m) / s;
    row.out[j] = (row.upstream * alpha * p - row.targets[j]) * row.cap_slope(j);
  }
}
