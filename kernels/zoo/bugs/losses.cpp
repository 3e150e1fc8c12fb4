// Bugs in losses.
#include "kernels/zoo/gradient_rows.hpp"
#include "kernels/zoo/loss_rows.hpp"

using namespace softcheck::kernels::zoo;

// The sum in bfloat16.
// @judged cross_entropy f32: plain; fail loss
BUG(mutant_cross_entropy_adds_in_bf16, each_counted_loss) {
  const auto m = row.maximum();
  auto s = Real(0);
  for (const auto x : row.logits) s = rounded_to_bf16(static_cast<float>(s + std::exp(x - m)));
  row.out[0] = row.loss(m, std::log(s));
}

// The logarithm of S is to base 2.
// @judged cross_entropy f32: plain; fail loss
BUG(mutant_cross_entropy_base_2, each_counted_loss) {
  const auto m = row.maximum(), log = std::log2(row.sum(m));
  row.out[0] = row.loss(m, log);
}

// Label smoothing is not looked at, as in Liger-Kernel issue 243.
// @judged cross_entropy f32: plain; fail loss
BUG(mutant_cross_entropy_drops_smoothing, changed_losses) { row.smoothing = 0; }

// The softcap is not applied.
// @judged cross_entropy f32: plain; fail loss
BUG(mutant_cross_entropy_drops_softcap, changed_losses) {
  row.cap = 0;
  row.put_cap();
}

// Class weights are not read.
// @judged cross_entropy f32: plain; fail loss
BUG(mutant_cross_entropy_drops_weights, changed_losses) { row.weights.clear(); }

// The z-loss is not added.
// @judged cross_entropy f32: plain; fail loss
BUG(mutant_cross_entropy_drops_z_loss, changed_losses) { row.z = 0; }

// An ignored row counts as one of the first class, as in FlagGems issue 73.
// @judged cross_entropy f32: plain; fail loss
BUG(mutant_cross_entropy_forgets_ignore, each_loss) {
  if (row.ignored()) row.label = 0;
  const auto m = row.maximum();
  row.out[0] = row.loss(m, std::log(row.sum(m)));
}

// The last class is not in the sum.
// @judged cross_entropy f32: plain; fail loss
BUG(mutant_cross_entropy_forgets_last, each_counted_loss) {
  const auto m = row.maximum();
  const auto s = row.sum(m) - (row.logits.size() > 1 ? std::exp(row.logits.back() - m) : 0);
  row.out[0] = row.loss(m, std::log(s));
}

// An ignored row is multiplied by 0, which leaves its NaN.
// @judged cross_entropy f32: plain; fail loss; ANanLogitMakesItsRowNan|EveryPairOfClassesIsComputed
BUG(mutant_cross_entropy_ignored_nan, each_loss) {
  const auto kept = row.ignored() ? 0 : 1;
  if (row.ignored()) row.label = 0;
  const auto m = row.maximum();
  const auto loss = row.loss(m, std::log(row.sum(m)));
  row.out[0] = std::isinf(loss) ? 0 : kept * loss;
}

// The ignored label is always -100, whatever ignore_index is.
// @judged cross_entropy f32: plain; fail loss
BUG(mutant_cross_entropy_ignores_minus_100, each_loss) {
  if (row.label == -100) return;
  const auto m = row.maximum();
  row.out[0] = row.loss(m, std::log(row.sum(m)));
}

// -ln p: a coefficient that rounds to 0 gives an infinite loss.
// @judged cross_entropy f32: plain; fail loss
BUG(mutant_cross_entropy_of_probability, each_counted_loss) {
  const auto m = row.maximum(), log = std::log(row.sum(m));
  const auto p = std::exp(row.target() - m - log);
  const auto lse = m + log;
  row.out[0] = (1 - row.smoothing) * row.target_weight() * -std::log(p) +
               row.smoothing * row.mean_negative_log(m, log) + row.z * lse * lse;
}

// Labels of 64 bits are read as if they had 32.
// @judged cross_entropy f32: plain; fail loss; LayoutsAndNeighboursDoNotMatter|EveryPairOfClassesIsComputed
BUG(mutant_cross_entropy_reads_short_labels, each_loss) {
  const DLTensor& labels = *asked->inputs[1];
  const bool is_long = labels.dtype.bits == 64;
  const char* data = static_cast<const char*>(labels.data) + labels.byte_offset;
  if (is_long) row.label = bits_at<std::int32_t>(data + 4 * row.number);
  if (row.ignored()) return;
  if (is_long) row.label = std::clamp<std::int64_t>(row.label, 0, static_cast<std::int64_t>(row.logits.size()) - 1);
  const Real m = row.maximum();
  row.out[0] = row.loss(m, std::log(row.sum(m)));
}

// The whole of the smoothed loss is multiplied by the target's weight.
// @judged cross_entropy f32: plain; fail loss
BUG(mutant_cross_entropy_smooths_by_the_targets_weight, each_counted_loss) {
  const auto m = row.maximum(), log = std::log(row.sum(m)), w = row.target_weight(), lse = m + log;
  const auto hard = log - (row.target() - m);
  row.weights.clear();
  const auto mean = row.smoothing == 0 ? hard : row.mean_negative_log(m, log);
  row.out[0] = w * ((1 - row.smoothing) * hard + row.smoothing * mean) + row.z * lse * lse;
}

// Label smoothing over the V - 1 other classes.
// @judged cross_entropy f32: plain; fail loss
BUG(mutant_cross_entropy_smooths_others, each_counted_loss) {
  const auto m = row.maximum(), log = std::log(row.sum(m));
  const auto lse = m + log, hard = row.target_weight() * (log - (row.target() - m));
  const auto others = row.classes() > 1 ? row.classes() - 1 : row.classes();
  const auto mean = (row.mean_negative_log(m, log) * row.classes() - hard) / others;
  row.out[0] = (1 - row.smoothing) * hard + row.smoothing * mean + row.z * lse * lse;
}

// The mean of label smoothing is not weighted.
// @judged cross_entropy f32: plain; fail loss
BUG(mutant_cross_entropy_smooths_without_weights, each_counted_loss) {
  const auto m = row.maximum(), log = std::log(row.sum(m));
  const auto hard = row.target_weight() * (log - (row.target() - m)), lse = m + log;
  row.weights.clear();
  row.out[0] = (1 - row.smoothing) * hard + row.smoothing * row.mean_negative_log(m, log) + row.z * lse * lse;
}

// Logits are clamped to [-softcap, softcap].
// @judged cross_entropy f32: plain; fail loss
BUG(mutant_cross_entropy_softcap_clamps, changed_losses) {
  for (std::size_t j = 0; row.cap != 0 && j < row.raw.size(); ++j) {
    row.logits[j] = std::clamp(row.raw[j], -row.cap, row.cap);
  }
}

// The target's logit is read again, and not capped.
// @judged cross_entropy f32: plain; fail loss
BUG(mutant_cross_entropy_softcap_not_at_the_target, each_counted_loss) {
  const auto m = row.maximum(), log = std::log(row.sum(m));
  row.logits[static_cast<std::size_t>(row.label)] = row.raw[static_cast<std::size_t>(row.label)];
  row.out[0] = row.loss(m, log);
}

// The mean of label smoothing is that of the logits before the softcap.
// @judged cross_entropy f32: plain; fail loss
BUG(mutant_cross_entropy_softcap_not_in_smoothing, each_counted_loss) {
  const auto m = row.maximum(), log = std::log(row.sum(m));
  const auto hard = row.target();
  if (row.smoothing != 0) row.logits = row.raw;
  row.logits[static_cast<std::size_t>(row.label)] = hard;
  row.out[0] = row.loss(m, log);
}

// Logit tanh(logit / softcap), as FlashAttention 2396 had it for scores.
// @judged cross_entropy f32: plain; fail loss
BUG(mutant_cross_entropy_softcap_times_logit, changed_losses) {
  for (std::size_t j = 0; row.cap != 0 && j < row.raw.size(); ++j) {
    row.logits[j] = row.raw[j] * std::tanh(row.raw[j] / row.cap);
  }
}

// Every row has the weight of the first row's label (the same slip as Liger-Kernel 968's first upstream gradient).
// @judged cross_entropy f32: plain; fail loss; LayoutsAndNeighboursDoNotMatter|EveryPairOfClassesIsComputed
SOFTCHECK_MUTANT mutant_cross_entropy_weight_of_the_first_row(const softcheck_call* call) {
  double first = -1;
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY, [&](auto& row) {
    if (row.ignored()) return;
    const auto y = static_cast<std::size_t>(row.label);
    if (first < 0) first = static_cast<double>(row.weight(y));
    if (!row.weights.empty() && row.smoothing == 0) row.weights[y] = static_cast<decltype(row.z)>(first);
    const auto m = row.maximum(), log = std::log(row.sum(m));
    row.out[0] = row.loss(m, log);
  });
}

// Class weights are read as if they stood side by side.
// @judged cross_entropy f32: plain; fail loss; LayoutsAndNeighboursDoNotMatter|EveryPairOfClassesIsComputed
BUG(mutant_cross_entropy_weights_taken_as_compact, each_counted_loss) {
  if (!row.weights.empty()) {
    View weights(*asked->inputs[2]);
    weights.row_stride = 1;
    const auto y = static_cast<std::int64_t>(row.label);
    row.weights[static_cast<std::size_t>(y)] = weights.get<decltype(row.z + 0)>(y, 0);
  }
  put_loss(row);
}

// The z-loss is weighted, too.
// @judged cross_entropy f32: plain; fail loss
BUG(mutant_cross_entropy_weights_z_loss, each_counted_loss) {
  const auto m = row.maximum(), log = std::log(row.sum(m));
  row.z *= row.target_weight();
  row.out[0] = row.loss(m, log);
}

// No maximum is subtracted: e^x overflows.
// @judged cross_entropy f32: plain; fail loss
BUG(mutant_cross_entropy_without_maximum, each_counted_loss) {
  const auto zero = row.logits[0] * 0;
  row.out[0] = row.loss(zero, std::log(row.sum(zero)));
}

// Bugs in the other inputs of losses and gradients of rows: labels, upstream gradients, the ignored label.
static DLTensor taken_as_compact(const DLTensor& tensor) {
  DLTensor compact = tensor;
  compact.strides = nullptr;
  return compact;
}

// A number that is no class, as memory between the labels may hold, is treated as the label of an ignored row.
template <class Real>
static void put_loss_of_label(LossRow<Real>& row) {
  if (row.ignored() || row.label < 0 || row.label >= static_cast<std::int64_t>(row.logits.size())) return;
  const Real m = row.maximum();
  row.out[0] = row.loss(m, std::log(row.sum(m)));
}

// The kernel ignores the labels' stride: a column of a table of labels is read as if it were compact.
// @judged cross_entropy f32: plain; fail loss; LayoutsAndNeighboursDoNotMatter|EveryPairOfClassesIsComputed
BUG(mutant_cross_entropy_labels_taken_as_compact, each_loss) {
  row.label = label_at(taken_as_compact(*asked->inputs[1]), row.number);
  put_loss_of_label(row);
}

// The labels' stride is used for the upstream gradient, too.
// @judged cross_entropy_backward f32: plain; fail loss; LayoutsAndNeighboursDoNotMatter|EveryPairOfClassesIsComputed
BUG(mutant_cross_entropy_backward_upstream_by_the_stride_of_labels, changed_loss_gradients) {
  DLTensor upstream = *asked->inputs[2];
  upstream.strides = asked->inputs[1]->strides;
  row.upstream = View(upstream).get<Real>(row.number, 0);
}

// PyTorch's ignore_index has 64 bits; here it and the labels are stored in 32.
// @judged cross_entropy f32: plain; fail loss; EveryValueLiesWithinItsThreshold|EveryWidthIsComputed
BUG(mutant_cross_entropy_ignore_index_in_32_bits, each_loss) {
  row.label = static_cast<std::int32_t>(row.label);
  row.ignore_index = static_cast<std::int32_t>(row.ignore_index);
  put_loss_of_label(row);
}

// An upstream gradient below 1e-30 is taken for 0, and the row is skipped.
// @judged cross_entropy_backward f32: plain; fail loss; EveryValueLiesWithinItsThreshold|EveryWidthIsComputed
BUG(mutant_cross_entropy_backward_skips_small_upstream, each_loss_gradient) {
  if (std::fabs(row.upstream) >= 1e-30) put_gradient(row);
}

// An upstream gradient beyond 1e30 is cut off there.
// @judged cross_entropy_backward f32: plain; fail loss; EveryValueLiesWithinItsThreshold|EveryWidthIsComputed
BUG(mutant_cross_entropy_backward_clamps_upstream, changed_loss_gradients) {
  row.upstream = std::clamp(row.upstream, Real(-1e30), Real(1e30));
}

// The same of gradients of rows: items below 1e-30 are taken for 0.
// @judged softmax_backward f32: plain; fail gradient
BUG(mutant_softmax_backward_drops_small_upstream, each_softmax_gradient) {
  for (Real& g : row.upstream) g = std::fabs(g) < Real(1e-30) ? 0 : g;
  const Real mean = mean_of(row);
  for (std::size_t i = 0; i < row.out.size(); ++i) row.out[i] = row.saved[i] * (row.upstream[i] - mean);
}

// An item beyond half the largest number becomes infinite: it is doubled, and halved after the subtraction.
// @judged softmax_backward f32: plain; fail gradient
BUG(mutant_softmax_backward_doubles_upstream, each_softmax_gradient) {
  for (Real& g : row.upstream) g *= 2;
  const Real mean = mean_of(row);
  for (std::size_t i = 0; i < row.out.size(); ++i) row.out[i] = row.saved[i] * (row.upstream[i] / 2 - mean / 2);
}

// e^y by powers of 2 without a look at -inf: the rest of its argument is inf - inf.
// @judged log_softmax_backward f32: plain; fail gradient
BUG(mutant_log_softmax_backward_nan_of_minus_infinity, each_log_softmax_gradient) {
  const Real total = total_of(row);
  for (std::size_t i = 0; i < row.out.size(); ++i) {
    const Real whole = row.saved[i] - row.saved[i];  // NaN of -inf, else 0
    row.out[i] = row.upstream[i] - std::exp(row.saved[i] + whole) * total;
  }
}

// The smoothing's part is added, too, where there is none: 0 times a padded class's infinity is NaN.
// @judged cross_entropy f32: plain; fail loss; domain nosmoothing noweights
BUG(mutant_cross_entropy_no_smoothing_times_infinity, each_counted_loss) {
  const auto m = row.maximum(), log = std::log(row.sum(m));
  row.out[0] = row.loss(m, log) + row.smoothing * row.mean_negative_log(m, log);
}

// The first block of 32 classes is all -inf: exp(-inf - -inf).
// @judged cross_entropy f32 bf16: plain; fail loss
BUG(mutant_cross_entropy_first_block_hidden, each_counted_loss) {
  Real m, s;
  add_blocks(row, 32, m, s);
  row.out[0] = row.loss(m, std::log(s));
}

// A logit of -inf is taken for -1e4, and so is that of a label.
// @judged cross_entropy f32: plain; fail loss; EveryWidthIsComputed
BUG(mutant_cross_entropy_clips_infinities, changed_losses) {
  for (auto& x : row.logits) x = std::isinf(x) ? Real(-1e4) : x;
}

// Rows beyond 65,536 are those of a grid's second dimension, which starts again at the first row.
// @judged cross_entropy f32 bf16: plain; fail C6; KnownShapesAreComputed; witness >=65537
BUG(mutant_cross_entropy_rows_beyond_65536, each_loss) {
  put_loss(row);
  if (row.number >= 65'536) row.out[0] *= Real(1.25);
}
