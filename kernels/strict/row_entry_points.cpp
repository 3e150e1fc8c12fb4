// The row kernels of kernels/block/ on the CPU's vectors, through the ABI. Bits are those of the emulated kernels
// (kernels/emulator/plugin) and of the kernels on a GPU.
#include <algorithm>
#include <memory>

#include "kernels/block/abi/tree_views.hpp"
#include "kernels/call/parallel_tasks.hpp"
#include "kernels/entry/ops.hpp"
#include "kernels/strict/machine.hpp"
#include "kernels/strict/rows.hpp"
#include "kernels/strict/tree_rows.hpp"

namespace softcheck::kernels::strict {
namespace {

// Items of a task: enough that the time to take a task is negligible.
constexpr std::int64_t task_elements = std::int64_t{1} << 15;

template <class Rows, class Views, class Op>
void run_rows(const Views& views, Op op) {
  const std::int64_t rows = views.logits.rows;
  const std::int64_t step = std::max<std::int64_t>(1, task_elements / std::max<std::int64_t>(1, views.logits.columns));
  parallel_tasks((rows + step - 1) / step, thread_count(), [&] {
    return [&, memory = std::make_shared<Rows>(views)](std::int64_t task) {
      for (std::int64_t row = task * step; row < std::min(rows, (task + 1) * step); ++row) op(*memory, row);
    };
  });
}

template <template <class> class Rows, class Op>
int run(const softcheck_call* call, Form form, Op op) try {
  const std::optional<CallViews> views = call_views(call, form);
  // Adaptive softmax backward has no temperature: beta replaces it.
  if (!views || !views->of_one_format() || (form == Form::gradient && views->theta != 1)) return 1;
  views->logits.storage == Storage::f64 ? run_rows<Rows<double>>(*views, op) : run_rows<Rows<float>>(*views, op);
  return 0;
} catch (...) {
  return 1;  // out of memory
}

/// Op   a type of namespace tree
template <class Op, class Row>
int run_op(const softcheck_call* call, Row row) try {
  const std::optional<TreeViews> views = tree_views<Op>(call);
  if (!views || (!Op::has_theta && views->theta != 1)) return 1;
  if (views->logits.storage != Storage::f64) {
    run_rows<StrictTreeRows>(*views, row);
    return 0;
  }
  if constexpr (has_f64<Op>) run_rows<StrictF64Rows>(*views, row);
  return has_f64<Op> ? 0 : 1;
} catch (...) {
  return 1;  // out of memory
}

struct RowOps {
  static int softmax(const softcheck_call* call) {
    return run_op<tree::SoftmaxKernel>(call, [](auto& rows, std::int64_t row) { rows.softmax(row); });
  }
  static int log_softmax(const softcheck_call* call) {
    return run_op<tree::LogSoftmaxKernel>(call, [](auto& rows, std::int64_t row) { rows.log_softmax(row); });
  }
  static int logsumexp(const softcheck_call* call) {
    return run_op<tree::LogsumexpKernel>(call, [](auto& rows, std::int64_t row) { rows.logsumexp(row); });
  }
  static int entropy(const softcheck_call* call) {
    return run_op<tree::EntropyKernel>(call, [](auto& rows, std::int64_t row) { rows.entropy(row); });
  }
  static int adaptive_softmax(const softcheck_call* call) {
    return run_op<tree::AdaptiveSoftmaxKernel>(call, [](auto& rows, std::int64_t row) { rows.adaptive_softmax(row); });
  }
  static int softmax_backward(const softcheck_call* call) { return run_gradient<tree::SoftmaxBackwardKernel>(call); }
  static int log_softmax_backward(const softcheck_call* call) {
    return run_gradient<tree::LogSoftmaxBackwardKernel>(call);
  }
  static int cross_entropy(const softcheck_call* call) {
    return run_op<tree::CrossEntropyKernel>(call, [](auto& rows, std::int64_t row) { rows.cross_entropy(row); });
  }
  static int cross_entropy_backward(const softcheck_call* call) {
    return run_op<tree::CrossEntropyBackwardKernel>(
        call, [](auto& rows, std::int64_t row) { rows.cross_entropy_backward(row); });
  }
  // run() refuses results of different formats.
  static int row_statistics(const softcheck_call* call) {
    return run<StrictStatistics>(call, Form::statistics,
                                 [](auto& rows, std::int64_t row) { rows.row_statistics(row); });
  }
  static int varentropy(const softcheck_call* call) {
    return run<StrictStatistics>(call, Form::rows, [](auto& rows, std::int64_t row) { rows.varentropy(row); });
  }
  static int adaptive_softmax_backward(const softcheck_call* call) {
    return run<StrictRowGradients>(call, Form::gradient,
                                   [](auto& rows, std::int64_t row) { rows.adaptive_softmax(row); });
  }

 private:
  template <class Op>
  static int run_gradient(const softcheck_call* call) {
    return run_op<Op>(call, [](auto& rows, std::int64_t row) { rows.template gradient<Op>(row); });
  }
};

}  // namespace
}  // namespace softcheck::kernels::strict

SOFTCHECK_ROW_ENTRIES(softcheck_strict_, softcheck::kernels::strict::RowOps)
SOFTCHECK_LOSS_ENTRIES(softcheck_strict_, softcheck::kernels::strict::RowOps)
