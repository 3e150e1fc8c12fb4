// The exported kernels of rows. Their contracts are in kernels/entry/contracts.tsv, derived in kernels/README.md. A
// row's bits depend only on its logits, mask and theta.
#include <algorithm>
#include <vector>

#include "kernels/call/call_views.hpp"
#include "kernels/call/parallel_tasks.hpp"
#include "kernels/call/version_2_views.hpp"
#include "kernels/cpu/machine.hpp"
#include "kernels/cpu/rows/loss_ops.hpp"
#include "kernels/cpu/rows/merge_ops.hpp"
#include "kernels/cpu/rows/probability_ops.hpp"
#include "kernels/cpu/rows/saved_backward.hpp"
#include "kernels/cpu/rows/state_ops.hpp"
#include "kernels/cpu/rows/topk_ops.hpp"
#include "kernels/entry/ops.hpp"

namespace softcheck::kernels::cpu {
namespace {

constexpr int done = 0;
constexpr int refused = 1;

// A task has enough rows that the cost of taking it is negligible.
constexpr std::int64_t task_elements = std::int64_t{1} << 15;

/// Rows [begin, end) of a call.
template <class Views>
using RowsOp = void (*)(const Views& views, std::int64_t begin, std::int64_t end);

/// Runs op of a call's format on its rows, refuses a call without views.
template <class Views>
int run(const std::optional<Views>& views, View Views::*input, RowsOp<Views> narrow, RowsOp<Views> wide) try {
  if (!views) {
    return refused;
  }
  const View& rows_of = (*views).*input;
  const RowsOp<Views> op = rows_of.storage == Storage::f64 ? wide : narrow;
  const std::int64_t rows = rows_of.rows;
  const std::int64_t step = std::max<std::int64_t>(1, task_elements / std::max<std::int64_t>(1, rows_of.columns));
  parallel_tasks((rows + step - 1) / step, thread_count(), [&] {
    return [&](std::int64_t task) { op(*views, task * step, std::min(rows, (task + 1) * step)); };
  });
  return done;
} catch (...) {
  return refused;  // out of memory for threads
}

int run(const softcheck_call* call, Form form, RowsOp<CallViews> narrow, RowsOp<CallViews> wide) {
  return run(call_views(call, form), &CallViews::logits, narrow, wide);
}

// Adaptive ops take no temperature: beta replaces it.
bool has_temperature(const softcheck_call* call) {
  return call != nullptr && call->abi_version == SOFTCHECK_KERNEL_ABI_VERSION && call->theta != 1;
}

struct RowOps {
  static int softmax(const softcheck_call* call) {
    return run(call, Form::elements_and_entropy, softmax_rows<float>, softmax_rows<double>);
  }
  static int log_softmax(const softcheck_call* call) {
    return run(call, Form::elements, each_state<float, log_softmax_row<float>>,
               each_state<double, log_softmax_row<double>>);
  }
  static int logsumexp(const softcheck_call* call) {
    return run(call, Form::rows, each_state<float, logsumexp_row<float>>, each_state<double, logsumexp_row<double>>);
  }
  static int entropy(const softcheck_call* call) {
    return run(call, Form::rows, entropy_rows<float>, entropy_rows<double>);
  }
  static int adaptive_softmax(const softcheck_call* call) {
    return has_temperature(call)
               ? refused
               : run(call, Form::elements_and_entropy, adaptive_softmax_rows<float>, adaptive_softmax_rows<double>);
  }
  static int row_statistics(const softcheck_call* call) {
    return run(call, Form::statistics, statistics_rows<float>, statistics_rows<double>);
  }
  static int varentropy(const softcheck_call* call) {
    return run(call, Form::rows, each_row<float, varentropy_row<float>>, each_row<double, varentropy_row<double>>);
  }
  static int adaptive_softmax_backward(const softcheck_call* call) {
    return has_temperature(call)
               ? refused
               : run(call, Form::gradient, adaptive_backward_rows<float>, adaptive_backward_rows<double>);
  }
  static int cross_entropy(const softcheck_call* call) {
    return run(loss_views(call, SOFTCHECK_OP_CROSS_ENTROPY), &LossViews::logits, cross_entropy_rows<float>,
               cross_entropy_rows<double>);
  }
  static int cross_entropy_backward(const softcheck_call* call) {
    return run(loss_views(call, SOFTCHECK_OP_CROSS_ENTROPY_BACKWARD), &LossViews::logits,
               cross_entropy_backward_rows<float>, cross_entropy_backward_rows<double>);
  }
  static int cross_entropy_mean(const softcheck_call* call) try {
    std::optional<LossViews> views = loss_views(call, SOFTCHECK_OP_CROSS_ENTROPY_MEAN);
    if (!views) {
      return refused;
    }
    const LossViews asked = *views;
    std::vector<double> losses(static_cast<std::size_t>(asked.logits.rows));
    views->output = view_of_losses(losses);
    if (run(views, &LossViews::logits, cross_entropy_rows<float>, cross_entropy_rows<double>) != done) {
      return refused;
    }
    store_element(asked.output.at(0, 0), asked.output.storage, reduced_loss(asked, losses));
    return done;
  } catch (...) {
    return refused;  // out of memory for a loss of each row
  }
  static int cross_entropy_mean_backward(const softcheck_call* call) {
    std::optional<LossViews> views = loss_views(call, SOFTCHECK_OP_CROSS_ENTROPY_MEAN_BACKWARD);
    if (views) {
      views->divisor = loss_divisor(*views);
    }
    return run(views, &LossViews::logits, cross_entropy_backward_rows<float>, cross_entropy_backward_rows<double>);
  }
  static int softmax_backward(const softcheck_call* call) {
    return run(saved_views(call, SOFTCHECK_OP_SOFTMAX_BACKWARD), &SavedViews::saved,
               saved_rows<float, &SavedRow<float>::put_softmax_gradient>,
               saved_rows<double, &SavedRow<double>::put_softmax_gradient>);
  }
  static int log_softmax_backward(const softcheck_call* call) {
    return run(saved_views(call, SOFTCHECK_OP_LOG_SOFTMAX_BACKWARD), &SavedViews::saved,
               saved_rows<float, &SavedRow<float>::put_log_gradient>,
               saved_rows<double, &SavedRow<double>::put_log_gradient>);
  }
  static int topk_softmax(const softcheck_call* call) {
    return run(topk_views(call), &TopkViews::logits, topk_softmax_rows<float>, topk_softmax_rows<double>);
  }
  static int merge_states(const softcheck_call* call) {
    return run(merge_views(call), &MergeViews::merged, merge_states_rows<float>, merge_states_rows<double>);
  }
};

}  // namespace
}  // namespace softcheck::kernels::cpu

SOFTCHECK_ROW_ENTRIES(softcheck_, softcheck::kernels::cpu::RowOps)
SOFTCHECK_LOSS_ENTRIES(softcheck_, softcheck::kernels::cpu::RowOps)
SOFTCHECK_CPU_ENTRIES(softcheck_, softcheck::kernels::cpu::RowOps)
