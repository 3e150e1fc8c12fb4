// Correct kernels of losses and their gradients.
#include "kernels/zoo/divergence_rows.hpp"
#include "kernels/zoo/loss_rows.hpp"
#include "kernels/zoo/mean_rows.hpp"

using namespace softcheck::kernels::zoo;

// Ln S - (x_y - m), label smoothing by the mean of the log-probabilities.
// @judged cross_entropy f32 f64 f16 bf16 8bits: plain; pass
// @judged cross_entropy f32 bf16: plain theta=before; pass; domain temperature
CORRECT(correct_cross_entropy, each_loss) { put_loss(row); }

// Upstream ((1 + 2 z L) p - b).
// @judged cross_entropy_backward f32 f64 f16 bf16 8bits: plain; pass
// @judged cross_entropy_backward f32 bf16: plain theta=before; pass; domain temperature
CORRECT(correct_cross_entropy_backward, each_loss_gradient) { put_gradient(row); }

// Rows of the upstream gradient 0 are skipped, even those with a NaN.
// @judged cross_entropy_backward f32: plain; pass
CORRECT(correct_cross_entropy_backward_skips_rows, each_loss_gradient) {
  if (row.upstream == 0) {
    std::fill(row.out.begin(), row.out.end(), 0);
  } else {
    put_gradient(row);
  }
}

// P as the exponential of the log-probability.
// @judged cross_entropy_backward f32: plain; pass
CORRECT(correct_cross_entropy_backward_from_logarithms, each_counted_loss_gradient) {
  const auto m = row.maximum(), log = std::log(row.sum(m));
  for (std::size_t j = 0; j < row.out.size(); ++j) {
    row.out[j] = row.upstream * row.slope(j, std::exp((row.logits[j] - m) - log), m + log);
  }
}

// The classes from the last to the first.
// @judged cross_entropy_backward f32: plain; pass
CORRECT(correct_cross_entropy_backward_reversed, each_counted_loss_gradient) {
  const auto m = row.maximum();
  auto s = Real(0);
  for (std::size_t j = row.logits.size(); j-- > 0;) s += std::exp(row.logits[j] - m);
  for (std::size_t j = row.out.size(); j-- > 0;) {
    row.out[j] = row.upstream * row.slope(j, std::exp(row.logits[j] - m) / s, m + std::log(s));
  }
}

// The slope of the softcap from tanh itself.
// @judged cross_entropy_backward f32: plain; pass
CORRECT(correct_cross_entropy_backward_softcap_from_tanh, each_counted_loss_gradient) {
  const auto m = row.maximum(), s = row.sum(m);
  for (std::size_t j = 0; j < row.out.size(); ++j) {
    const auto t = row.cap == 0 ? row.cap : std::tanh(row.raw[j] / row.cap);
    const auto behind = row.capped_slope(j, std::exp(row.logits[j] - m) / s, m + std::log(s));
    row.out[j] = row.upstream * (behind * (1 - t * t));
  }
}

// The gradients g of the log-probabilities first, as torch has them, then g - p sum g.
// @judged cross_entropy_backward f32: plain; pass
CORRECT(correct_cross_entropy_backward_through_log_softmax, each_counted_loss_gradient) {
  const auto m = row.maximum(), s = row.sum(m), lse = m + std::log(s);
  auto total = Real(0);
  auto g = row.logits;
  for (std::size_t j = 0; j < g.size(); ++j) {
    g[j] = -(row.smoothing / row.classes()) * row.weight(j);
    if (static_cast<std::int64_t>(j) == row.label) g[j] -= (1 - row.smoothing) * row.weight(j);
    total += g[j];
  }
  for (std::size_t j = 0; j < g.size(); ++j) {
    const auto p = std::exp(row.logits[j] - m) / s;
    const auto behind = (2 * row.z * lse - total) * p + g[j];
    row.out[j] = row.upstream * (row.cap == 0 ? behind : behind * row.cap_slope(j));
  }
}

// The losses one after the other, divided by the count or the weights' sum.
// @judged cross_entropy_mean f32 f64 f16 bf16: plain; pass
CORRECT(correct_cross_entropy_mean, each_mean) { return call.sum_of_losses() / call.divisor(); }

// Upstream over the divisor is the factor of each row.
// @judged cross_entropy_mean_backward f32 f64 f16 bf16: plain; pass
CORRECT(correct_cross_entropy_mean_backward, mean_gradient_by_factor) {
  return call.counts_none() ? call.upstream : call.upstream / call.divisor();
}

// Each gradient is multiplied by upstream and then divided.
// @judged cross_entropy_mean_backward f32: plain; pass
CORRECT(correct_cross_entropy_mean_backward_divides_last, each_mean_gradient) {
  const auto divisor = call.divisor();
  for (auto& row : call.rows) {
    put_scaled_gradient(row, call.upstream);
    for (auto& value : row.out) value = row.ignored() ? value : value / divisor;
  }
}

// Each loss times the reciprocal of the divisor, then the sum.
// @judged cross_entropy_mean f32: plain; pass
CORRECT(correct_cross_entropy_mean_by_reciprocal, each_mean) {
  const auto share = 1 / call.divisor();
  auto sum = share * 0;
  for (const auto& row : call.rows) {
    if (!row.ignored()) sum += call.loss(row) * share;
  }
  return call.counts_none() ? call.sum_of_losses() / call.divisor() : sum;
}

// Partial sums of four rows, added from the last one on.
// @judged cross_entropy_mean f32: plain; pass
CORRECT(correct_cross_entropy_mean_of_parts, each_mean) {
  auto sum = call.upstream * 0;
  const std::size_t rows = call.rows.size();
  for (std::size_t part = (rows + 3) / 4; part-- > 0;) {
    auto partial = call.upstream * 0;
    for (std::size_t r = part * 4; r < rows && r < part * 4 + 4; ++r) {
      if (!call.rows[r].ignored()) partial += call.loss(call.rows[r]);
    }
    sum += partial;
  }
  return sum / call.divisor();
}

// Correct under masked=zero: a mean over no rows is 0.
// @judged cross_entropy_mean f32: plain masked=zero; pass
CORRECT(correct_cross_entropy_mean_zero_of_nothing, each_mean) {
  return call.counts_none() ? call.upstream * 0 : call.sum_of_losses() / call.divisor();
}

// One pass, the sum rescaled whenever the maximum rises.
// @judged cross_entropy f32: plain; pass
CORRECT(correct_cross_entropy_online, each_counted_loss) {
  auto m = row.logits[0], s = Real(0);
  for (const auto x : row.logits) {
    if (x > m) {
      s = s * std::exp(m - x) + 1;
      m = x;
    } else {
      s += std::isinf(x) ? Real(0) : std::exp(x - m);
    }
  }
  row.out[0] = row.loss(m, std::log(s));
}

// Label smoothing as L less the mean of the logits.
// @judged cross_entropy f32: plain; pass
CORRECT(correct_cross_entropy_smoothed_logits, each_counted_loss) {
  const auto m = row.maximum(), log = std::log(row.sum(m));
  const auto lse = m + log;
  auto result = row.target_weight() * (log - (row.target() - m));
  if (row.smoothing != 0) {
    auto total = decltype(lse){};
    for (std::size_t j = 0; j < row.logits.size(); ++j) total += row.weight(j) * row.logits[j];
    result = (1 - row.smoothing) * result + row.smoothing * (row.mean_weight() * lse - total / row.classes());
  }
  row.out[0] = row.z == 0 ? result : result + row.z * lse * lse;
}

// Tanh from expm1.
// @judged cross_entropy f32: plain tanh=4ulp; pass
CORRECT(correct_cross_entropy_softcap_by_exponentials, changed_losses) {
  for (auto& x : row.logits) x = 0;
  for (std::size_t j = 0; j < row.raw.size(); ++j) {
    if (row.cap == 0) {
      row.logits[j] = row.raw[j];
      continue;
    }
    const auto e = std::expm1(-2 * std::fabs(row.raw[j] / row.cap));
    row.logits[j] = row.cap * std::copysign(-e / (2 + e), row.raw[j]);
  }
}

// Correct under lse=uncentred: L - x_y, with L rounded first.
// @judged cross_entropy f32: plain lse=uncentred; pass
// @judged cross_entropy f32: plain; fail loss
CORRECT(correct_cross_entropy_uncentred, each_counted_loss) {
  const auto m = row.maximum(), log = std::log(row.sum(m));
  const auto lse = m + log;
  auto result = row.target_weight() * (lse - row.target());
  if (row.smoothing != 0) result = (1 - row.smoothing) * result + row.smoothing * row.mean_negative_log(m, log);
  row.out[0] = row.z == 0 ? result : result + row.z * lse * lse;
}

// Class weights multiply log-probabilities, which are added from the last class on; s / V is one factor.
// @judged cross_entropy f32: plain; pass
CORRECT(correct_cross_entropy_weighted_sums, each_counted_loss) {
  const auto m = row.maximum(), log = std::log(row.sum(m)), lse = m + log;
  auto total = Real(0);
  for (std::size_t j = row.logits.size(); row.smoothing != 0 && j-- > 0;) {
    total += row.weight(j) * (log - (row.logits[j] - m));
  }
  const auto hard = row.target_weight() * (log - (row.target() - m));
  row.out[0] = row.smoothing == 0 ? hard : (1 - row.smoothing) * hard + row.smoothing / row.classes() * total;
  if (row.z != 0) row.out[0] += row.z * lse * lse;
}

// Correct kernels of the cross-entropy of targets (soft labels) and its gradient.

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
    s += std::isinf(x) ? Real(0) : std::exp(x - m);
    mass += row.targets[j];
    if (row.targets[j] != 0) dot += row.targets[j] * x;
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

// Correct kernels of the divergence of two rows of logits and its gradient.

// sum w (ln w - ln v), from both log-softmaxes.
// @judged kl_divergence f32 f64 f16 bf16 8bits: plain; pass
// @judged kl_divergence f32: plain theta=before; pass; domain temperature
CORRECT(correct_kl_divergence, each_divergence) { put_divergence(row); }

// From the last class to the first, with weights over their sum.
// @judged kl_divergence f32: plain; pass
CORRECT(correct_kl_divergence_of_quotients, each_divergence) {
  const auto& w = row.weighing();
  const auto a = logarithms_of(w), b = logarithms_of(row.other());
  const auto m = *std::max_element(w.begin(), w.end());
  auto s = Real(0), sum = Real(0);
  for (const auto x : w) s += std::exp(x - m);
  for (std::size_t j = w.size(); j-- > 0;) {
    const auto p = std::exp(w[j] - m) / s;
    if (p != 0) sum += p * (a[j] - b[j]);
  }
  row.out[0] = sum;
}

// Upstream (p - q), or upstream p (ln p - ln q - K).
// @judged kl_divergence_backward f32 f64 f16 bf16 8bits: plain; pass
// @judged kl_divergence_backward f32: plain theta=before; pass; domain temperature
CORRECT(correct_kl_divergence_backward, each_divergence_gradient) { put_divergence_gradient(row); }

// As automatic differentiation has the reverse one: the gradient by the log-probabilities, p (ln p - ln q + 1), and
// then log-softmax's own; the forward one with upstream in each term.
// @judged kl_divergence_backward f32: plain; pass
CORRECT(correct_kl_divergence_backward_of_terms, each_divergence_gradient) {
  const auto p = logarithms_of(row.x), q = logarithms_of(row.t);
  auto total = Real(0);
  const auto by_logarithm = [&](std::size_t j) {
    const auto e = std::exp(p[j]);
    return std::isinf(p[j]) ? e : e * (p[j] - q[j] + 1);
  };
  for (std::size_t j = 0; j < p.size(); ++j) total += by_logarithm(j);
  for (std::size_t j = 0; j < p.size(); ++j) {
    row.out[j] = row.reverse ? row.upstream * (by_logarithm(j) - std::exp(p[j]) * total)
                             : row.upstream * std::exp(p[j]) - row.upstream * std::exp(q[j]);
  }
}
