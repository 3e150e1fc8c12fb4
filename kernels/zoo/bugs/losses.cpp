// Bugs in losses.
#include <algorithm>
#include <limits>

#include "kernels/zoo/gradient_rows.hpp"
#include "kernels/zoo/loss_rows.hpp"

using namespace softcheck::kernels::zoo;

// The sum in bfloat16.
// @judged cross_entropy f32: exp=1ulp sum=sequential masked=nan; fail loss; EveryValueLiesWithinItsThreshold;
// kernel.cross_entropy.loss
SOFTCHECK_MUTANT mutant_cross_entropy_adds_in_bf16(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY, [](auto& row) {
    if (row.ignored()) return;
    const auto m = row.maximum();
    auto s = decltype(m + 0){};
    for (const auto x : row.logits) s = rounded_to_bf16(static_cast<float>(s + std::exp(x - m)));
    row.out[0] = row.loss(m, std::log(s));
  });
}

// The logarithm of S is to base 2.
// @judged cross_entropy f32: exp=1ulp sum=sequential masked=nan; fail loss; EveryValueLiesWithinItsThreshold;
// kernel.cross_entropy.loss
SOFTCHECK_MUTANT mutant_cross_entropy_base_2(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY, [](auto& row) {
    if (row.ignored()) return;
    const auto m = row.maximum(), log = std::log2(row.sum(m));
    row.out[0] = row.loss(m, log);
  });
}

// Label smoothing is not looked at, as in Liger-Kernel issue 243.
// @judged cross_entropy f32: exp=1ulp sum=sequential masked=nan; fail loss; EveryValueLiesWithinItsThreshold;
// kernel.cross_entropy.loss
SOFTCHECK_MUTANT mutant_cross_entropy_drops_smoothing(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY, [](auto& row) {
    row.smoothing = 0;
    if (row.ignored()) return;
    const auto m = row.maximum(), log = std::log(row.sum(m));
    row.out[0] = row.loss(m, log);
  });
}

// The softcap is not applied.
// smoothing).
// @judged cross_entropy f32: exp=1ulp sum=sequential masked=nan; fail loss; EveryValueLiesWithinItsThreshold;
// kernel.cross_entropy.loss
SOFTCHECK_MUTANT mutant_cross_entropy_drops_softcap(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY, [](auto& row) {
    row.cap = 0;
    row.put_cap();
    if (row.ignored()) return;
    const auto m = row.maximum(), log = std::log(row.sum(m));
    row.out[0] = row.loss(m, log);
  });
}

// Class weights are not read.
// @judged cross_entropy f32: exp=1ulp sum=sequential masked=nan; fail loss; EveryValueLiesWithinItsThreshold;
// kernel.cross_entropy.loss
SOFTCHECK_MUTANT mutant_cross_entropy_drops_weights(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY, [](auto& row) {
    row.weights.clear();
    if (row.ignored()) return;
    const auto m = row.maximum(), log = std::log(row.sum(m));
    row.out[0] = row.loss(m, log);
  });
}

// The z-loss is not added.
// @judged cross_entropy f32: exp=1ulp sum=sequential masked=nan; fail loss; EveryValueLiesWithinItsThreshold;
// kernel.cross_entropy.loss
SOFTCHECK_MUTANT mutant_cross_entropy_drops_z_loss(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY, [](auto& row) {
    row.z = 0;
    if (row.ignored()) return;
    const auto m = row.maximum(), log = std::log(row.sum(m));
    row.out[0] = row.loss(m, log);
  });
}

// An ignored row counts as one of the first class, as in FlagGems issue 73.
// @judged cross_entropy f32: exp=1ulp sum=sequential masked=nan; fail loss; EveryValueLiesWithinItsThreshold;
// kernel.cross_entropy.loss
SOFTCHECK_MUTANT mutant_cross_entropy_forgets_ignore(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY, [](auto& row) {
    if (row.ignored()) row.label = 0;
    const auto m = row.maximum();
    row.out[0] = row.loss(m, std::log(row.sum(m)));
  });
}

// The last class is not in the sum.
// @judged cross_entropy f32: exp=1ulp sum=sequential masked=nan; fail loss; EveryValueLiesWithinItsThreshold;
// kernel.cross_entropy.loss
SOFTCHECK_MUTANT mutant_cross_entropy_forgets_last(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY, [](auto& row) {
    if (row.ignored()) return;
    const auto m = row.maximum();
    const auto s = row.sum(m) - (row.logits.size() > 1 ? std::exp(row.logits.back() - m) : 0);
    row.out[0] = row.loss(m, std::log(s));
  });
}

// An ignored row is multiplied by 0, which leaves its NaN.
// @judged cross_entropy f32: exp=1ulp sum=sequential masked=nan; fail loss;
// ANanLogitMakesItsRowNan|EveryPairOfClassesIsComputed; kernel.nan_row
SOFTCHECK_MUTANT mutant_cross_entropy_ignored_nan(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY, [](auto& row) {
    const auto kept = row.ignored() ? 0 : 1;
    if (row.ignored()) row.label = 0;
    const auto m = row.maximum();
    const auto loss = row.loss(m, std::log(row.sum(m)));
    row.out[0] = std::isinf(loss) ? 0 : kept * loss;
  });
}

// The label to ignore is -100, whatever the caller says.
// @judged cross_entropy f32: exp=1ulp sum=sequential masked=nan; fail loss; EveryValueLiesWithinItsThreshold;
// kernel.cross_entropy.loss
SOFTCHECK_MUTANT mutant_cross_entropy_ignores_minus_100(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY, [](auto& row) {
    if (row.label == -100) return;
    const auto m = row.maximum();
    row.out[0] = row.loss(m, std::log(row.sum(m)));
  });
}

// -ln p: a coefficient that rounds to 0 gives an infinite loss.
// @judged cross_entropy f32: exp=1ulp sum=sequential masked=nan; fail loss; EveryValueLiesWithinItsThreshold;
// kernel.cross_entropy.loss
SOFTCHECK_MUTANT mutant_cross_entropy_of_probability(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY, [](auto& row) {
    if (row.ignored()) return;
    const auto m = row.maximum(), log = std::log(row.sum(m));
    const auto p = std::exp(row.target() - m - log);
    const auto lse = m + log;
    row.out[0] = (1 - row.smoothing) * row.target_weight() * -std::log(p) +
                 row.smoothing * row.mean_negative_log(m, log) + row.z * lse * lse;
  });
}

// Labels of 64 bits are read as if they had 32.
// @judged cross_entropy f32: exp=1ulp sum=sequential masked=nan; fail loss;
// LayoutsAndNeighboursDoNotMatter|EveryPairOfClassesIsComputed; kernel.cross_entropy.loss
SOFTCHECK_MUTANT mutant_cross_entropy_reads_short_labels(const softcheck_call* call) {
  if (call->n_inputs < 2 || call->inputs[1]->dtype.bits != 64) {
    return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY, [](auto& row) {
      if (row.ignored()) return;
      const auto m = row.maximum();
      row.out[0] = row.loss(m, std::log(row.sum(m)));
    });
  }
  const DLTensor labels = *call->inputs[1];
  std::int64_t at = 0;
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY, [&](auto& row) {
    const char* data = static_cast<const char*>(labels.data) + labels.byte_offset;
    row.label = bits_at<std::int32_t>(data + 4 * at++);
    if (row.ignored()) return;
    row.label = std::clamp<std::int64_t>(row.label, 0, static_cast<std::int64_t>(row.logits.size()) - 1);
    const auto m = row.maximum();
    row.out[0] = row.loss(m, std::log(row.sum(m)));
  });
}

// The whole of the smoothed loss is multiplied by the target's weight.
// @judged cross_entropy f32: exp=1ulp sum=sequential masked=nan; fail loss; EveryValueLiesWithinItsThreshold;
// kernel.cross_entropy.loss
SOFTCHECK_MUTANT mutant_cross_entropy_smooths_by_the_targets_weight(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY, [](auto& row) {
    if (row.ignored()) return;
    const auto m = row.maximum(), log = std::log(row.sum(m)), w = row.target_weight(), lse = m + log;
    const auto hard = log - (row.target() - m);
    row.weights.clear();
    const auto mean = row.smoothing == 0 ? hard : row.mean_negative_log(m, log);
    row.out[0] = w * ((1 - row.smoothing) * hard + row.smoothing * mean) + row.z * lse * lse;
  });
}

// Label smoothing over the V - 1 other classes.
// @judged cross_entropy f32: exp=1ulp sum=sequential masked=nan; fail loss; EveryValueLiesWithinItsThreshold;
// kernel.cross_entropy.loss
SOFTCHECK_MUTANT mutant_cross_entropy_smooths_others(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY, [](auto& row) {
    if (row.ignored()) return;
    const auto m = row.maximum(), log = std::log(row.sum(m));
    const auto lse = m + log, hard = row.target_weight() * (log - (row.target() - m));
    const auto others = row.classes() > 1 ? row.classes() - 1 : row.classes();
    const auto mean = (row.mean_negative_log(m, log) * row.classes() - hard) / others;
    row.out[0] = (1 - row.smoothing) * hard + row.smoothing * mean + row.z * lse * lse;
  });
}

// The mean of label smoothing is not weighted.
// @judged cross_entropy f32: exp=1ulp sum=sequential masked=nan; fail loss; EveryValueLiesWithinItsThreshold;
// kernel.cross_entropy.loss
SOFTCHECK_MUTANT mutant_cross_entropy_smooths_without_weights(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY, [](auto& row) {
    if (row.ignored()) return;
    const auto m = row.maximum(), log = std::log(row.sum(m));
    const auto hard = row.target_weight() * (log - (row.target() - m)), lse = m + log;
    row.weights.clear();
    row.out[0] = (1 - row.smoothing) * hard + row.smoothing * row.mean_negative_log(m, log) + row.z * lse * lse;
  });
}

// Logits are clamped to [-softcap, softcap].
// @judged cross_entropy f32: exp=1ulp sum=sequential masked=nan; fail loss; EveryValueLiesWithinItsThreshold;
// kernel.cross_entropy.loss
SOFTCHECK_MUTANT mutant_cross_entropy_softcap_clamps(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY, [](auto& row) {
    for (std::size_t j = 0; row.cap != 0 && j < row.raw.size(); ++j) {
      row.logits[j] = std::clamp(row.raw[j], -row.cap, row.cap);
    }
    if (row.ignored()) return;
    const auto m = row.maximum(), log = std::log(row.sum(m));
    row.out[0] = row.loss(m, log);
  });
}

// The target's logit is read again, and not capped.
// @judged cross_entropy f32: exp=1ulp sum=sequential masked=nan; fail loss; EveryValueLiesWithinItsThreshold;
// kernel.cross_entropy.loss
SOFTCHECK_MUTANT mutant_cross_entropy_softcap_not_at_the_target(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY, [](auto& row) {
    if (row.ignored()) return;
    const auto m = row.maximum(), log = std::log(row.sum(m));
    row.logits[static_cast<std::size_t>(row.label)] = row.raw[static_cast<std::size_t>(row.label)];
    row.out[0] = row.loss(m, log);
  });
}

// The mean of label smoothing is that of the logits before the softcap.
// @judged cross_entropy f32: exp=1ulp sum=sequential masked=nan; fail loss; EveryValueLiesWithinItsThreshold;
// kernel.cross_entropy.loss
SOFTCHECK_MUTANT mutant_cross_entropy_softcap_not_in_smoothing(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY, [](auto& row) {
    if (row.ignored()) return;
    const auto m = row.maximum(), log = std::log(row.sum(m));
    const auto hard = row.target();
    if (row.smoothing != 0) row.logits = row.raw;
    row.logits[static_cast<std::size_t>(row.label)] = hard;
    row.out[0] = row.loss(m, log);
  });
}

// Logit tanh(logit / softcap), as FlashAttention 2396 had it for scores.
// @judged cross_entropy f32: exp=1ulp sum=sequential masked=nan; fail loss; EveryValueLiesWithinItsThreshold;
// kernel.cross_entropy.loss
SOFTCHECK_MUTANT mutant_cross_entropy_softcap_times_logit(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY, [](auto& row) {
    for (std::size_t j = 0; row.cap != 0 && j < row.raw.size(); ++j) {
      row.logits[j] = row.raw[j] * std::tanh(row.raw[j] / row.cap);
    }
    if (row.ignored()) return;
    const auto m = row.maximum(), log = std::log(row.sum(m));
    row.out[0] = row.loss(m, log);
  });
}

// Every row has the weight of the first row's label (the same slip as Liger-Kernel 968's first upstream gradient).
// @judged cross_entropy f32: exp=1ulp sum=sequential masked=nan; fail loss;
// LayoutsAndNeighboursDoNotMatter|EveryPairOfClassesIsComputed; kernel.cross_entropy.loss
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
// @judged cross_entropy f32: exp=1ulp sum=sequential masked=nan; fail loss;
// LayoutsAndNeighboursDoNotMatter|EveryPairOfClassesIsComputed; kernel.cross_entropy.loss
SOFTCHECK_MUTANT mutant_cross_entropy_weights_taken_as_compact(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY, [&](auto& row) {
    if (row.ignored()) return;
    if (!row.weights.empty()) {
      View weights(*call->inputs[2]);
      weights.row_stride = 1;
      const auto y = static_cast<std::int64_t>(row.label);
      row.weights[static_cast<std::size_t>(y)] = weights.get<decltype(row.z + 0)>(y, 0);
    }
    const auto m = row.maximum(), log = std::log(row.sum(m));
    row.out[0] = row.loss(m, log);
  });
}

// The z-loss is weighted, too.
// @judged cross_entropy f32: exp=1ulp sum=sequential masked=nan; fail loss; EveryValueLiesWithinItsThreshold;
// kernel.cross_entropy.loss
SOFTCHECK_MUTANT mutant_cross_entropy_weights_z_loss(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY, [](auto& row) {
    if (row.ignored()) return;
    const auto m = row.maximum(), log = std::log(row.sum(m));
    row.z *= row.target_weight();
    row.out[0] = row.loss(m, log);
  });
}

// No maximum is subtracted: e^x overflows.
// @judged cross_entropy f32: exp=1ulp sum=sequential masked=nan; fail loss; EveryValueLiesWithinItsThreshold;
// kernel.cross_entropy.loss
SOFTCHECK_MUTANT mutant_cross_entropy_without_maximum(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY, [](auto& row) {
    if (row.ignored()) return;
    const auto zero = row.logits[0] * 0;
    row.out[0] = row.loss(zero, std::log(row.sum(zero)));
  });
}

// Bugs of what stands beside the logits of losses and gradients of rows: labels, upstream gradients, the ignored label.
namespace {

DLTensor taken_as_compact(const DLTensor& tensor) {
  DLTensor compact = tensor;
  compact.strides = nullptr;
  return compact;
}

// A label that is none, as what lies between the labels may be, is one of a row that does not count.
template <class Real>
void put_loss(LossRow<Real>& row) {
  if (row.ignored() || row.label < 0 || row.label >= static_cast<std::int64_t>(row.logits.size())) return;
  const Real m = row.maximum();
  row.out[0] = row.loss(m, std::log(row.sum(m)));
}

}  // namespace

// The stride of the labels is not looked at: a column of a table of labels is read as if it were compact.
// @judged cross_entropy f32: exp=1ulp sum=sequential masked=nan; fail loss;
// LayoutsAndNeighboursDoNotMatter|EveryPairOfClassesIsComputed; kernel.cross_entropy.loss
SOFTCHECK_MUTANT mutant_cross_entropy_labels_taken_as_compact(const softcheck_call* call) {
  std::int64_t number = 0;
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY, [&](auto& row) {
    row.label = label_at(taken_as_compact(*call->inputs[1]), number++);
    put_loss(row);
  });
}

// The labels' stride is taken for that of the upstream gradient, too.
// @judged cross_entropy_backward f32: exp=1ulp sum=sequential masked=nan; fail loss;
// LayoutsAndNeighboursDoNotMatter|EveryPairOfClassesIsComputed; kernel.cross_entropy_backward.element
SOFTCHECK_MUTANT mutant_cross_entropy_backward_upstream_by_the_stride_of_labels(const softcheck_call* call) {
  std::int64_t number = 0;
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY_BACKWARD, [&]<class Real>(LossRow<Real>& row) {
    DLTensor upstream = *call->inputs[2];
    upstream.strides = call->inputs[1]->strides;
    row.upstream = View(upstream).get<Real>(number++, 0);
    put_gradient(row);
  });
}

// PyTorch's ignore_index is of 64 bits; here it and the labels are held in 32.
// @judged cross_entropy f32: exp=1ulp sum=sequential masked=nan; fail loss;
// EveryValueLiesWithinItsThreshold|EveryWidthIsComputed; kernel.cross_entropy.loss
SOFTCHECK_MUTANT mutant_cross_entropy_ignore_index_in_32_bits(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY, [](auto& row) {
    row.label = static_cast<std::int32_t>(row.label);
    row.ignore_index = static_cast<std::int32_t>(row.ignore_index);
    put_loss(row);
  });
}

// An upstream gradient below 1e-30 is taken for 0, and the row is skipped.
// @judged cross_entropy_backward f32: exp=1ulp sum=sequential masked=nan; fail loss;
// EveryValueLiesWithinItsThreshold|EveryWidthIsComputed; kernel.cross_entropy_backward.element
SOFTCHECK_MUTANT mutant_cross_entropy_backward_skips_small_upstream(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY_BACKWARD, [](auto& row) {
    if (std::fabs(row.upstream) >= 1e-30) put_gradient(row);
  });
}

// An upstream gradient beyond 1e30 is cut off there.
// @judged cross_entropy_backward f32: exp=1ulp sum=sequential masked=nan; fail loss;
// EveryValueLiesWithinItsThreshold|EveryWidthIsComputed; kernel.cross_entropy_backward.element
SOFTCHECK_MUTANT mutant_cross_entropy_backward_clamps_upstream(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY_BACKWARD, []<class Real>(LossRow<Real>& row) {
    row.upstream = std::clamp(row.upstream, Real(-1e30), Real(1e30));
    put_gradient(row);
  });
}

// The same of gradients of rows: items below 1e-30 are taken for 0.
// @judged softmax_backward f32: exp=1ulp sum=sequential masked=nan; fail gradient; EveryValueLiesWithinItsThreshold;
// kernel.softmax_backward.element
SOFTCHECK_MUTANT mutant_softmax_backward_drops_small_upstream(const softcheck_call* call) {
  return each_gradient_row(call, SOFTCHECK_OP_SOFTMAX_BACKWARD, []<class Real>(GradientRow<Real>& row) {
    for (Real& g : row.upstream) g = std::fabs(g) < Real(1e-30) ? 0 : g;
    const Real mean = mean_of(row);
    for (std::size_t i = 0; i < row.out.size(); ++i) row.out[i] = row.saved[i] * (row.upstream[i] - mean);
  });
}

// An item beyond half the largest number becomes infinite: it is doubled, and halved behind the difference.
// @judged softmax_backward f32: exp=1ulp sum=sequential masked=nan; fail gradient; EveryValueLiesWithinItsThreshold;
// kernel.softmax_backward.element
SOFTCHECK_MUTANT mutant_softmax_backward_doubles_upstream(const softcheck_call* call) {
  return each_gradient_row(call, SOFTCHECK_OP_SOFTMAX_BACKWARD, []<class Real>(GradientRow<Real>& row) {
    for (Real& g : row.upstream) g *= 2;
    const Real mean = mean_of(row);
    for (std::size_t i = 0; i < row.out.size(); ++i) row.out[i] = row.saved[i] * (row.upstream[i] / 2 - mean / 2);
  });
}

// e^y by powers of 2 without a look at -inf: the rest of its argument is inf - inf.
// @judged log_softmax_backward f32: exp=1ulp sum=sequential masked=nan; fail gradient;
// EveryValueLiesWithinItsThreshold; kernel.log_softmax_backward.element
SOFTCHECK_MUTANT mutant_log_softmax_backward_nan_of_minus_infinity(const softcheck_call* call) {
  return each_gradient_row(call, SOFTCHECK_OP_LOG_SOFTMAX_BACKWARD, []<class Real>(GradientRow<Real>& row) {
    const Real total = total_of(row);
    for (std::size_t i = 0; i < row.out.size(); ++i) {
      const Real whole = row.saved[i] - row.saved[i];  // NaN of -inf, else 0
      row.out[i] = row.upstream[i] - std::exp(row.saved[i] + whole) * total;
    }
  });
}
