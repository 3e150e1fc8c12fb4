// Bugs in means of losses.
#include "kernels/zoo/mean_rows.hpp"

using namespace softcheck::kernels::zoo;

// The losses are added up in bfloat16.
// @judged cross_entropy_mean f32: plain; fail loss;
// LayoutsAndNeighboursDoNotMatter|EveryPairOfClassesIsComputed|ManyRowsAreEachAsRight
BUG(mutant_cross_entropy_mean_adds_in_bf16, each_mean) {
  float sum = 0;
  for (const auto& row : call.rows) {
    if (!row.ignored()) sum = rounded_to_bf16(sum + static_cast<float>(call.loss(row)));
  }
  return static_cast<Real>(sum) / call.divisor();
}

// The gradient of a sum is divided like that of a mean.
// @judged cross_entropy_mean_backward f32: plain; fail loss;
// LayoutsAndNeighboursDoNotMatter|EveryPairOfClassesIsComputed|ManyRowsAreEachAsRight
BUG(mutant_cross_entropy_mean_backward_divides_the_sum, mean_gradient_by_factor) {
  call.mean = true;
  return call.counts_none() ? call.upstream : call.upstream / call.divisor();
}

// The gradient of the mean itself: upstream is ignored.
// @judged cross_entropy_mean_backward f32: plain; fail loss
BUG(mutant_cross_entropy_mean_backward_drops_upstream, mean_gradient_by_factor) { return 1 / call.divisor(); }

// An ignored row has the gradient of class 0.
// @judged cross_entropy_mean_backward f32: plain; fail loss;
// LayoutsAndNeighboursDoNotMatter|EveryPairOfClassesIsComputed|ManyRowsAreEachAsRight
BUG(mutant_cross_entropy_mean_backward_forgets_ignore, each_mean_gradient) {
  const auto divisor = call.divisor();
  for (auto& row : call.rows) {
    if (row.ignored()) row.label = 0, row.ignore_index = -1;
    put_scaled_gradient(row, call.upstream / divisor);
  }
}

// If all rows are ignored, 0 is divided by 0.
// @judged cross_entropy_mean_backward f32: plain; fail loss;
// LayoutsAndNeighboursDoNotMatter|EveryPairOfClassesIsComputed|ManyRowsAreEachAsRight
BUG(mutant_cross_entropy_mean_backward_nan_of_nothing, each_mean_gradient) {
  const auto divisor = call.divisor();
  for (auto& row : call.rows) {
    put_scaled_gradient(row, call.upstream);
    for (auto& value : row.out) value /= divisor;
  }
}

// Upstream is not divided by the number of rows.
// @judged cross_entropy_mean_backward f32: plain; fail loss;
// LayoutsAndNeighboursDoNotMatter|EveryPairOfClassesIsComputed|ManyRowsAreEachAsRight
BUG(mutant_cross_entropy_mean_backward_not_divided, mean_gradient_by_factor) { return call.upstream; }

// Upstream is divided by the number of rows, ignored ones too (TransformerEngine pull request 2476, in the
// gradient).
// @judged cross_entropy_mean_backward f32: plain; fail loss;
// LayoutsAndNeighboursDoNotMatter|EveryPairOfClassesIsComputed|ManyRowsAreEachAsRight
BUG(mutant_cross_entropy_mean_backward_over_all_rows, mean_gradient_by_factor) {
  const bool weighted = !call.rows.empty() && !call.rows.front().weights.empty();
  const Real divisor = call.mean && !weighted ? static_cast<Real>(call.rows.size()) : call.divisor();
  return call.upstream / divisor;
}

// Upstream is divided by the number of rows that count, not by the sum of their weights.
// @judged cross_entropy_mean_backward f32: plain; fail loss
BUG(mutant_cross_entropy_mean_backward_weights_not_in_divisor, mean_gradient_by_factor) {
  auto count = call.upstream * 0;
  for (const auto& row : call.rows) count += row.ignored() ? 0 : 1;
  return call.mean ? call.upstream / count : call.upstream;
}

// A sum is divided like a mean.
// @judged cross_entropy_mean f32: plain; fail loss;
// LayoutsAndNeighboursDoNotMatter|EveryPairOfClassesIsComputed|ManyRowsAreEachAsRight
BUG(mutant_cross_entropy_mean_divides_the_sum, each_mean) {
  if (call.counts_none()) return call.sum_of_losses() / call.divisor();
  call.mean = true;
  return call.sum_of_losses() / call.divisor();
}

// The last row is not added where there are several.
// @judged cross_entropy_mean f32: plain; fail loss;
// LayoutsAndNeighboursDoNotMatter|EveryPairOfClassesIsComputed|ManyRowsAreEachAsRight
BUG(mutant_cross_entropy_mean_forgets_last_row, each_mean) {
  auto sum = call.upstream * 0;
  for (std::size_t r = 0; r < call.rows.size(); ++r) {
    const bool left_out = r > 0 && r + 1 == call.rows.size();
    if (!left_out && !call.rows[r].ignored()) sum += call.loss(call.rows[r]);
  }
  return sum / call.divisor();
}

// The loss of an ignored row is multiplied by 0, so that a NaN in its logits reaches the mean.
// @judged cross_entropy_mean f32: plain; fail loss; ANanLogitMakesItsRowNan|EveryPairOfClassesIsComputed; loss
BUG(mutant_cross_entropy_mean_ignored_nan, each_mean) {
  auto sum = call.upstream * 0;
  for (auto row : call.rows) {
    const bool ignored = row.ignored();
    if (ignored) row.label = 0;
    sum += call.loss(row) * (ignored ? 0 : 1);
  }
  return sum / call.divisor();
}

// Rows with label -100 are ignored whatever ignore_index is, and no others (FlagGems issue 73 is the other way
// round).
// @judged cross_entropy_mean f32: plain; fail loss;
// LayoutsAndNeighboursDoNotMatter|EveryPairOfClassesIsComputed|ManyRowsAreEachAsRight
BUG(mutant_cross_entropy_mean_ignores_minus_100, each_mean) {
  for (auto& row : call.rows) row.ignore_index = -100;
  return call.sum_of_losses() / call.divisor();
}

// The mean of the means of micro-batches of two rows, which are not of the same number of tokens.
// @judged cross_entropy_mean f32: plain; fail loss;
// LayoutsAndNeighboursDoNotMatter|EveryPairOfClassesIsComputed|ManyRowsAreEachAsRight
BUG(mutant_cross_entropy_mean_of_means, each_mean) {
  if (!call.mean || call.rows.size() < 3) return call.sum_of_losses() / call.divisor();
  Real sum = 0, batches = 0;
  for (std::size_t r = 0; r < call.rows.size(); r += 2) {
    Real losses = 0, share = 0;
    for (std::size_t k = r; k < call.rows.size() && k < r + 2; ++k) {
      if (!call.rows[k].ignored()) losses += call.loss(call.rows[k]);
      share += call.share(call.rows[k]);
    }
    if (share > 0) sum += losses / share;
    if (share > 0) batches += 1;
  }
  return sum / batches;
}

// Divided by the number of rows, ignored ones too, as in TransformerEngine pull request 2476.
// @judged cross_entropy_mean f32: plain; fail loss;
// LayoutsAndNeighboursDoNotMatter|EveryPairOfClassesIsComputed|ManyRowsAreEachAsRight
BUG(mutant_cross_entropy_mean_over_all_rows, each_mean) {
  const bool plain = call.mean && !call.counts_none() && call.rows.front().weights.empty();
  if (!plain) return call.sum_of_losses() / call.divisor();
  return call.sum_of_losses() / static_cast<Real>(call.rows.size());
}

// The smoothing's part of the loss counts ignored rows, as in PyTorch issue 73205.
// @judged cross_entropy_mean f32: plain; fail loss;
// LayoutsAndNeighboursDoNotMatter|EveryPairOfClassesIsComputed|ManyRowsAreEachAsRight
BUG(mutant_cross_entropy_mean_smooths_ignored_rows, each_mean) {
  auto sum = call.upstream * 0;
  for (const auto& row : call.rows) {
    if (!row.ignored()) {
      sum += call.loss(row);
    } else if (row.smoothing != 0) {
      const auto m = row.maximum();
      sum += row.smoothing * row.mean_negative_log(m, std::log(row.sum(m)));
    }
  }
  return sum / call.divisor();
}

// Class weights multiply the losses, but the divisor is the number of rows that count.
// @judged cross_entropy_mean f32: plain; fail loss
BUG(mutant_cross_entropy_mean_weights_not_in_divisor, each_mean) {
  auto count = call.upstream * 0;
  for (const auto& row : call.rows) count += row.ignored() ? 0 : 1;
  return call.sum_of_losses() / (call.mean ? count : 1);
}

// The divisor contains the weight of class 0 for each ignored row, whose label was clamped to 0.
// @judged cross_entropy_mean f32: plain; fail loss;
// LayoutsAndNeighboursDoNotMatter|EveryPairOfClassesIsComputed|ManyRowsAreEachAsRight
BUG(mutant_cross_entropy_mean_weights_of_ignored_rows, each_mean) {
  auto divisor = call.divisor();
  if (call.mean && divisor > 0) {
    for (const auto& row : call.rows) divisor += row.ignored() && !row.weights.empty() ? row.weights[0] : 0;
  }
  return call.sum_of_losses() / divisor;
}

// Bug under masked=nan: the divisor is at least 1, so that a mean over no rows is 0; torch's is NaN (PyTorch issue
// 116349).
// @judged cross_entropy_mean f32: plain; fail loss
BUG(mutant_cross_entropy_mean_zero_of_nothing, each_mean) {
  return call.counts_none() ? call.upstream * 0 : call.sum_of_losses() / call.divisor();
}

// The smoothing's part is added, too, where there is none: 0 times a padded class's infinity is NaN.
// @judged cross_entropy_mean f32: plain; fail loss
BUG(mutant_cross_entropy_mean_no_smoothing_times_infinity, each_mean) {
  auto sum = call.sum_of_losses();
  for (const auto& row : call.rows) {
    const auto m = row.maximum();
    if (!row.ignored() && row.smoothing == 0) sum += 0 * row.mean_negative_log(m, std::log(row.sum(m)));
  }
  return sum / call.divisor();
}

// A term that is off is added, 0 times the logit: NaN for a padded class.
// @judged cross_entropy_mean_backward f32: plain; fail loss
BUG(mutant_cross_entropy_mean_backward_of_hidden_classes, each_mean_gradient) {
  for (auto& row : call.rows) {
    put_scaled_gradient(row, call.counts_none() ? call.upstream : call.upstream / call.divisor());
    for (std::size_t j = 0; j < row.out.size() && !row.ignored(); ++j) row.out[j] += 0 * row.raw[j];
  }
}
