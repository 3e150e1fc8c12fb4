// Bugs in the divergence of two rows of logits and its gradient.
#include <utility>

#include "kernels/zoo/divergence_rows.hpp"

using namespace softcheck::kernels::zoo;

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
