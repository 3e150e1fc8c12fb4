// The row kernels of kernels/block/ on the CPU's vectors, through the ABI. Bits are those of the emulated kernels
// (kernels/emulator/plugin) and of the kernels on a GPU.
#include <algorithm>
#include <memory>

#include "kernels/block/abi/tree_views.hpp"
#include "kernels/call/parallel_tasks.hpp"
#include "kernels/entry/tree_ops.hpp"
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

template <template <class> class Rows = StrictRows, class Op>
int run(const softcheck_call* call, Form form, Op op) try {
  const std::optional<CallViews> views = call_views(call, form);
  if (!views || !views->of_one_format()) return 1;
  views->logits.storage == Storage::f64 ? run_rows<Rows<double>>(*views, op) : run_rows<Rows<float>>(*views, op);
  return 0;
} catch (...) {
  return 1;  // out of memory
}

// True if a call of an adaptive op passes a temperature; the op refuses it, because beta replaces it. Also true for a
// null call and for another version.
bool has_temperature(const softcheck_call* call) {
  return call == nullptr || call->abi_version != SOFTCHECK_KERNEL_ABI_VERSION || call->theta != 1;
}

struct RowOps {
  static int softmax(const softcheck_call* call) {
    return run(call, Form::elements, [](auto& rows, std::int64_t row) { rows.softmax(row); });
  }
  static int log_softmax(const softcheck_call* call) {
    return run(call, Form::elements, [](auto& rows, std::int64_t row) { rows.log_softmax(row); });
  }
  static int logsumexp(const softcheck_call* call) {
    return run(call, Form::rows, [](auto& rows, std::int64_t row) { rows.logsumexp(row); });
  }
  static int entropy(const softcheck_call* call) {
    return run(call, Form::rows, [](auto& rows, std::int64_t row) { rows.entropy(row); });
  }
  static int adaptive_softmax(const softcheck_call* call) {
    if (has_temperature(call)) return 1;
    return run(call, Form::elements, [](auto& rows, std::int64_t row) { rows.adaptive_softmax(row); });
  }
  // run() refuses results of different formats.
  static int row_statistics(const softcheck_call* call) {
    return run(call, Form::statistics, [](auto& rows, std::int64_t row) { rows.row_statistics(row); });
  }
  static int varentropy(const softcheck_call* call) {
    return run(call, Form::rows, [](auto& rows, std::int64_t row) { rows.varentropy(row); });
  }
  static int adaptive_softmax_backward(const softcheck_call* call) {
    if (has_temperature(call)) return 1;
    return run<StrictRowGradients>(call, Form::gradient,
                                   [](auto& rows, std::int64_t row) { rows.adaptive_softmax(row); });
  }
};

template <class Op, class Row>
int run_tree(const softcheck_call* call, Row row) try {
  const std::optional<TreeViews> views = tree_views<Op>(call);
  if (!views || (!Op::has_theta && views->theta != 1) || views->logits.storage == Storage::f64) return 1;
  run_rows<StrictTreeRows>(*views, row);
  return 0;
} catch (...) {
  return 1;  // out of memory
}

struct TreeOps {
  using Rows = StrictTreeRows;
  static int softmax(const softcheck_call* call) {
    return run_tree<tree::SoftmaxKernel>(call, [](Rows& rows, std::int64_t row) { rows.softmax(row); });
  }
  static int log_softmax(const softcheck_call* call) {
    return run_tree<tree::LogSoftmaxKernel>(call, [](Rows& rows, std::int64_t row) { rows.log_softmax(row); });
  }
  static int logsumexp(const softcheck_call* call) {
    return run_tree<tree::LogsumexpKernel>(call, [](Rows& rows, std::int64_t row) { rows.logsumexp(row); });
  }
  static int entropy(const softcheck_call* call) {
    return run_tree<tree::EntropyKernel>(call, [](Rows& rows, std::int64_t row) { rows.entropy(row); });
  }
  static int adaptive_softmax(const softcheck_call* call) {
    return run_tree<tree::AdaptiveSoftmaxKernel>(call,
                                                 [](Rows& rows, std::int64_t row) { rows.adaptive_softmax(row); });
  }
  static int softmax_backward(const softcheck_call* call) { return run_gradient<tree::SoftmaxBackwardKernel>(call); }
  static int log_softmax_backward(const softcheck_call* call) {
    return run_gradient<tree::LogSoftmaxBackwardKernel>(call);
  }
  static int cross_entropy(const softcheck_call* call) {
    return run_tree<tree::CrossEntropyKernel>(call, [](Rows& rows, std::int64_t row) { rows.cross_entropy(row); });
  }
  static int cross_entropy_backward(const softcheck_call* call) {
    return run_tree<tree::CrossEntropyBackwardKernel>(
        call, [](Rows& rows, std::int64_t row) { rows.cross_entropy_backward(row); });
  }

 private:
  template <class Op>
  static int run_gradient(const softcheck_call* call) {
    return run_tree<Op>(call, [](Rows& rows, std::int64_t row) { rows.gradient<Op>(row); });
  }
};

}  // namespace
}  // namespace softcheck::kernels::strict

SOFTCHECK_ROW_ENTRIES(softcheck_strict_, softcheck::kernels::strict::RowOps)
SOFTCHECK_TREE_ENTRIES(softcheck_strict_tree_, softcheck::kernels::strict::TreeOps)
