// Bugs in the cross-entropy of targets (soft labels) and its gradient.
#include <limits>
#include <utility>

#include "kernels/zoo/divergence_rows.hpp"
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

// optax.softmax_cross_entropy: a hidden class multiplies a target of 0 by infinity.
// @judged soft_cross_entropy f32: plain; fail loss
BUG(mutant_soft_cross_entropy_zero_times_infinity, each_soft_loss) {
  const auto m = row.maximum(), log = std::log(row.sum(m)), lse = m + log;
  row.out[0] = row.z * lse * lse;
  for (std::size_t j = 0; j < row.logits.size(); ++j) row.out[0] += row.targets[j] * (log - (row.logits[j] - m));
}

// The first block of 32 classes is all -inf: exp(-inf - -inf).
// @judged soft_cross_entropy_backward f32: plain; fail loss; EveryWidthIsComputed
BUG(mutant_soft_cross_entropy_backward_first_block_hidden, each_soft_gradient) {
  Real m, s;
  add_blocks(row, 32, m, s);
  const auto alpha = mass_of(row) + 2 * row.z * (m + std::log(s));
  for (std::size_t j = 0; j < row.out.size(); ++j) {
    row.out[j] =
        row.upstream * ((alpha * (std::exp(row.logits[j] - m) / s) - row.targets[j]) * row.cap_slope(j)) / row.theta;
  }
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

// Bugs in the divergence of two rows of logits and its gradient.

// The directions are exchanged.
// @judged kl_divergence f32: plain; fail loss
BUG(mutant_kl_divergence_other_direction, each_divergence) {
  row.reverse = !row.reverse;
  put_divergence(row);
}

// linkedin/Liger-Kernel 262: both probabilities have 1e-10 added before their logarithms.
// @judged kl_divergence f32: plain; fail loss
BUG(mutant_kl_divergence_epsilon, each_divergence) {
  row.out[0] = divergence_by(row, [](auto w, auto v) {
    const auto a = std::exp(w), b = std::exp(v);
    return a * (std::log(a + Real(1e-10)) - std::log(b + Real(1e-10)));
  });
}

// The mean over the classes (torch's reduction "mean") instead of the sum.
// @judged kl_divergence f32 bf16: plain; fail loss
BUG(mutant_kl_divergence_mean, each_divergence) {
  put_divergence(row);
  row.out[0] /= static_cast<Real>(row.x.size());
}

// The loss is multiplied by the square of the temperature, as in distillation.
// @judged kl_divergence f32: plain theta=before; fail loss; domain temperature
BUG(mutant_kl_divergence_times_squared_temperature, each_divergence) {
  put_divergence(row);
  row.out[0] *= row.theta * row.theta;
}

// The teacher has no temperature.
// @judged kl_divergence f32: plain theta=before; fail loss; domain temperature
BUG(mutant_kl_divergence_teacher_without_temperature, each_divergence) {
  for (auto& t : row.t) t *= row.theta;
  put_divergence(row);
}

// A padded class multiplies 0 by infinity.
// @judged kl_divergence f32: plain; fail loss
BUG(mutant_kl_divergence_zero_times_infinity, each_divergence) {
  const auto w = logarithms_of(row.weighing()), v = logarithms_of(row.other());
  for (std::size_t j = 0; j < w.size(); ++j) row.out[0] += std::exp(w[j]) * (w[j] - v[j]);
}

// The first block of 32 classes of the logits is all -inf: exp(-inf - -inf).
// @judged kl_divergence f32: plain; fail loss
BUG(mutant_kl_divergence_first_block_hidden, each_divergence) {
  const auto hidden = [](Real x) { return std::isinf(x); };
  put_divergence(row);
  if (row.x.size() > 32 && std::all_of(row.x.begin(), row.x.begin() + 32, hidden)) {
    row.out[0] = std::numeric_limits<Real>::quiet_NaN();
  }
}

// An infinite divergence is clipped: the log-probabilities end at -1e4.
// @judged kl_divergence f32: plain; fail loss
BUG(mutant_kl_divergence_clips_logarithms, each_divergence) {
  row.out[0] = divergence_by(row, [](auto w, auto v) { return std::exp(w) * (w - std::max(v, Real(-1e4))); });
}

// The cross-entropy: the weighing distribution's entropy is not subtracted.
// @judged kl_divergence f32: plain; fail loss
BUG(mutant_kl_divergence_cross_entropy, each_divergence) {
  row.out[0] = divergence_by(row, [](auto w, auto v) { return -std::exp(w) * v; });
}

// The reverse gradient forgets the divergence that the normalisation subtracts.
// @judged kl_divergence_backward f32 bf16: plain; fail loss
BUG(mutant_kl_divergence_backward_drops_divergence, each_divergence_gradient) {
  put_divergence_gradient(
      row, [&](auto p, auto q, auto k) { return row.reverse ? reverse_slope(p, q, 0 * k) : forward_slope(p, q); });
}

// The gradient by the teacher's logits.
// @judged kl_divergence_backward f32: plain; fail loss
BUG(mutant_kl_divergence_backward_by_the_teacher, each_divergence_gradient) {
  std::swap(row.x, row.t);
  put_divergence_gradient(row);
}

// The forward gradient in both directions.
// @judged kl_divergence_backward f32: plain; fail loss
BUG(mutant_kl_divergence_backward_always_forward, each_divergence_gradient) {
  row.reverse = false;
  put_divergence_gradient(row);
}

// ServiceNow/Fast-LLM 228: the gradient is by the scaled logits.
// @judged kl_divergence_backward f32: plain theta=before; fail loss; domain temperature
BUG(mutant_kl_divergence_backward_of_scaled_logits, each_divergence_gradient) {
  row.upstream *= row.theta;
  put_divergence_gradient(row);
}
