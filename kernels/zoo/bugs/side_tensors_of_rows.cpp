// Bugs of what stands beside the logits of losses and gradients of rows: labels, upstream gradients, the ignored label.
#include <algorithm>
#include <limits>

#include "kernels/zoo/gradient_rows.hpp"
#include "kernels/zoo/loss_rows.hpp"

using namespace softcheck::kernels::zoo;

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
SOFTCHECK_MUTANT mutant_cross_entropy_labels_taken_as_compact(const softcheck_call* call) {
  std::int64_t number = 0;
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY, [&](auto& row) {
    row.label = label_at(taken_as_compact(*call->inputs[1]), number++);
    put_loss(row);
  });
}

// The labels' stride is taken for that of the upstream gradient, too.
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
SOFTCHECK_MUTANT mutant_cross_entropy_ignore_index_in_32_bits(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY, [](auto& row) {
    row.label = static_cast<std::int32_t>(row.label);
    row.ignore_index = static_cast<std::int32_t>(row.ignore_index);
    put_loss(row);
  });
}

// An upstream gradient below 1e-30 is taken for 0, and the row is skipped.
SOFTCHECK_MUTANT mutant_cross_entropy_backward_skips_small_upstream(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY_BACKWARD, [](auto& row) {
    if (std::fabs(row.upstream) >= 1e-30) put_gradient(row);
  });
}

// An upstream gradient beyond 1e30 is cut off there.
SOFTCHECK_MUTANT mutant_cross_entropy_backward_clamps_upstream(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY_BACKWARD, []<class Real>(LossRow<Real>& row) {
    row.upstream = std::clamp(row.upstream, Real(-1e30), Real(1e30));
    put_gradient(row);
  });
}

// The same of gradients of rows: items below 1e-30 are taken for 0.
SOFTCHECK_MUTANT mutant_softmax_backward_drops_small_upstream(const softcheck_call* call) {
  return each_gradient_row(call, SOFTCHECK_OP_SOFTMAX_BACKWARD, []<class Real>(GradientRow<Real>& row) {
    for (Real& g : row.upstream) g = std::fabs(g) < Real(1e-30) ? 0 : g;
    const Real mean = mean_of(row);
    for (std::size_t i = 0; i < row.out.size(); ++i) row.out[i] = row.saved[i] * (row.upstream[i] - mean);
  });
}

// An item beyond half the largest number becomes infinite: it is doubled, and halved behind the difference.
SOFTCHECK_MUTANT mutant_softmax_backward_doubles_upstream(const softcheck_call* call) {
  return each_gradient_row(call, SOFTCHECK_OP_SOFTMAX_BACKWARD, []<class Real>(GradientRow<Real>& row) {
    for (Real& g : row.upstream) g *= 2;
    const Real mean = mean_of(row);
    for (std::size_t i = 0; i < row.out.size(); ++i) row.out[i] = row.saved[i] * (row.upstream[i] / 2 - mean / 2);
  });
}

// e^y by powers of 2 without a look at -inf: the rest of its argument is inf - inf.
SOFTCHECK_MUTANT mutant_log_softmax_backward_nan_of_minus_infinity(const softcheck_call* call) {
  return each_gradient_row(call, SOFTCHECK_OP_LOG_SOFTMAX_BACKWARD, []<class Real>(GradientRow<Real>& row) {
    const Real total = total_of(row);
    for (std::size_t i = 0; i < row.out.size(); ++i) {
      const Real whole = row.saved[i] - row.saved[i];  // NaN of -inf, else 0
      row.out[i] = row.upstream[i] - std::exp(row.saved[i] + whole) * total;
    }
  });
}
