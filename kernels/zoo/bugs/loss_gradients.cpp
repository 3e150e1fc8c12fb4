// Bugs in the gradients of losses.
#include "kernels/zoo/loss_rows.hpp"

using namespace softcheck::kernels::zoo;

// Label smoothing is not looked at, as in Liger-Kernel issue 243.
// @judged cross_entropy_backward f32: plain; fail loss
BUG(mutant_cross_entropy_backward_drops_smoothing, changed_loss_gradients) { row.smoothing = 0; }

// The upstream gradient is taken for 1.
// @judged cross_entropy_backward f32: plain; fail loss
BUG(mutant_cross_entropy_backward_drops_upstream, changed_loss_gradients) { row.upstream = 1; }

// A row of the upstream gradient 0 is divided by it.
// @judged cross_entropy_backward f32: plain; fail loss
BUG(mutant_cross_entropy_backward_divides_by_upstream, each_loss_gradient) {
  put_gradient(row);
  for (auto& dx : row.out) dx *= row.upstream / row.upstream;
}

// The gradient is not weighted.
// @judged cross_entropy_backward f32: plain; fail loss
BUG(mutant_cross_entropy_backward_drops_weights, changed_loss_gradients) { row.weights.clear(); }

// The z-loss has no gradient.
// @judged cross_entropy_backward f32: plain; fail loss
BUG(mutant_cross_entropy_backward_drops_z_loss, changed_loss_gradients) { row.z = 0; }

// Every row times the first upstream gradient, as in Liger-Kernel issue 968.
// @judged cross_entropy_backward f32: plain; fail loss; LayoutsAndNeighboursDoNotMatter|EveryPairOfClassesIsComputed
BUG(mutant_cross_entropy_backward_first_upstream, changed_loss_gradients) {
  row.upstream = View(*asked->inputs[2]).get<Real>(0, 0);
}

// An ignored row has the gradient of the first class, as in FlagGems issue 73.
// @judged cross_entropy_backward f32: plain; fail loss
BUG(mutant_cross_entropy_backward_forgets_ignore, changed_loss_gradients) {
  if (row.ignored()) {
    row.label = 0;
    row.ignore_index = -1;
  }
}

// The last class is not in the sum.
// @judged cross_entropy_backward f32: plain; fail loss
BUG(mutant_cross_entropy_backward_forgets_last, each_counted_loss_gradient) {
  const auto m = row.maximum();
  const auto s = row.sum(m) - (row.logits.size() > 1 ? std::exp(row.logits.back() - m) : 0);
  for (std::size_t j = 0; j < row.out.size(); ++j) {
    row.out[j] = row.upstream * row.slope(j, std::exp(row.logits[j] - m) / s, m + std::log(s));
  }
}

// An ignored row is multiplied by 0, which leaves its NaN.
// @judged cross_entropy_backward f32: plain; fail loss; ANanLogitMakesItsRowNan|EveryPairOfClassesIsComputed
BUG(mutant_cross_entropy_backward_ignored_nan, each_loss_gradient) {
  const bool ignored = row.ignored();
  if (ignored) {
    row.label = 0;
    row.ignore_index = -1;
  }
  put_gradient(row);
  for (auto& dx : row.out) dx = ignored ? dx * 0 : dx;
}

// The ignored label is always -100, whatever ignore_index is.
// @judged cross_entropy_backward f32: plain; fail loss
BUG(mutant_cross_entropy_backward_ignores_minus_100, changed_loss_gradients) { row.ignore_index = -100; }

// A class too far below the maximum for any coefficient gets the upstream gradient in place of 0.
// @judged cross_entropy_backward f32: plain; fail loss
BUG(mutant_cross_entropy_backward_keeps_unlikely, each_loss_gradient) {
  put_gradient(row);
  if (row.ignored()) return;
  const auto m = row.maximum();
  for (std::size_t j = 0; j < row.out.size(); ++j) {
    if (m - row.logits[j] > 1e12) row.out[j] += row.upstream;
  }
}

// The gradient with the other sign.
// @judged cross_entropy_backward f32: plain; fail loss
BUG(mutant_cross_entropy_backward_negated, changed_loss_gradients) { row.upstream = -row.upstream; }

// Under label smoothing p is weighted with the target's weight only; the mean of the weights is left out.
// @judged cross_entropy_backward f32: plain; fail loss
BUG(mutant_cross_entropy_backward_smooths_p_by_one, changed_loss_gradients) {
  row.mean_of_weights = row.target_weight();
}

// Label smoothing lowers the target, and nothing is taken from the other classes.
// @judged cross_entropy_backward f32: plain; fail loss
BUG(mutant_cross_entropy_backward_smooths_target_alone, each_counted_loss_gradient) {
  put_gradient(row);
  for (std::size_t j = 0; j < row.out.size(); ++j) {
    if (static_cast<std::int64_t>(j) != row.label)
      row.out[j] += row.upstream * row.cap_slope(j) * row.weight(j) * row.smoothing / row.classes();
  }
}

// A class too far below the maximum for any coefficient, and smoothed, gets the upstream gradient on top.
// @judged cross_entropy_backward f32: plain; fail loss
BUG(mutant_cross_entropy_backward_smooths_unlikely, each_loss_gradient) {
  put_gradient(row);
  if (row.ignored() || row.smoothing == 0) return;
  const auto m = row.maximum();
  for (std::size_t j = 0; j < row.out.size(); ++j) {
    if (m - row.logits[j] > 1e30) row.out[j] += row.upstream;
  }
}

// The slope of the softcap is left out at the target.
// @judged cross_entropy_backward f32: plain; fail loss
BUG(mutant_cross_entropy_backward_softcap_not_at_the_target, each_loss_gradient) {
  put_gradient(row);
  if (row.ignored()) return;
  const auto y = static_cast<std::size_t>(row.label);
  const auto m = row.maximum(), s = row.sum(m);
  row.out[y] = row.upstream * row.capped_slope(y, std::exp(row.logits[y] - m) / s, m + std::log(s));
}

// The gradient is that by the capped logits.
// @judged cross_entropy_backward f32: plain; fail loss
BUG(mutant_cross_entropy_backward_softcap_slope_left_out, loss_gradient_by_slopes) {
  return row.capped_slope(j, p, lse);
}

// The slope takes the tanh of a logit that is capped already.
// @judged cross_entropy_backward f32: plain; fail loss
BUG(mutant_cross_entropy_backward_softcap_slope_of_capped, each_counted_loss_gradient) {
  const auto m = row.maximum(), s = row.sum(m);
  for (std::size_t j = 0; j < row.out.size(); ++j) {
    const auto t = row.cap == 0 ? row.cap : std::tanh(row.logits[j] / row.cap);
    const auto behind = row.capped_slope(j, std::exp(row.logits[j] - m) / s, m + std::log(s));
    row.out[j] = row.upstream * behind * (1 - t * t);
  }
}

// The slope 1 - (logit / softcap)^2 is that of the raw logit, where the capped one belongs.
// @judged cross_entropy_backward f32: plain; fail loss
BUG(mutant_cross_entropy_backward_softcap_slope_of_raw, each_counted_loss_gradient) {
  const auto m = row.maximum(), s = row.sum(m);
  for (std::size_t j = 0; j < row.out.size(); ++j) {
    const auto t = row.cap == 0 ? row.cap : std::clamp(row.raw[j] / row.cap, -1 + row.cap * 0, 1 + row.cap * 0);
    const auto behind = row.capped_slope(j, std::exp(row.logits[j] - m) / s, m + std::log(s));
    row.out[j] = row.upstream * behind * (1 - t * t);
  }
}

// Each class's gradient has that class's weight, not the target's.
// @judged cross_entropy_backward f32: plain; fail loss
BUG(mutant_cross_entropy_backward_weight_of_each_class, each_counted_loss_gradient) {
  const auto weights = row.weights;
  if (row.smoothing == 0 && row.z == 0) row.weights.clear();
  put_gradient(row);
  for (std::size_t j = 0; row.weights.size() != weights.size() && j < row.out.size(); ++j) row.out[j] *= weights[j];
}

// The z-loss's gradient is weighted, too.
// @judged cross_entropy_backward f32: plain; fail loss
BUG(mutant_cross_entropy_backward_weights_z_loss, changed_loss_gradients) { row.z *= row.target_weight(); }

// No maximum is subtracted: e^x overflows.
// @judged cross_entropy_backward f32: plain; fail loss
BUG(mutant_cross_entropy_backward_without_maximum, each_counted_loss_gradient) {
  const auto s = row.sum(0);
  for (std::size_t j = 0; j < row.out.size(); ++j) {
    row.out[j] = row.upstream * row.slope(j, std::exp(row.logits[j]) / s, std::log(s));
  }
}

// No gradient at all, which the tolerances of published tests accept.
// @judged cross_entropy_backward f32: plain; fail loss
BUG(mutant_cross_entropy_backward_zeros, each_loss_gradient) { std::fill(row.out.begin(), row.out.end(), 0); }

// The first block of 32 classes is all -inf: exp(-inf - -inf).
// @judged cross_entropy_backward f32: plain; fail loss
BUG(mutant_cross_entropy_backward_first_block_hidden, each_counted_loss_gradient) {
  Real m, s;
  add_blocks(row, 32, m, s);
  for (std::size_t j = 0; j < row.out.size(); ++j) {
    row.out[j] = row.upstream * row.slope(j, std::exp(row.logits[j] - m) / s, m + std::log(s));
  }
}

// A term that is off is added, 0 times the logit: NaN for a padded class.
// @judged cross_entropy_backward f32: plain; fail loss; domain nozloss nosmoothing
BUG(mutant_cross_entropy_backward_nothing_times_infinity, each_counted_loss_gradient) {
  put_gradient(row);
  for (std::size_t j = 0; j < row.out.size(); ++j) row.out[j] += row.z * row.logits[j];
}
