// The row kernels of kernels/block/ at the CPU's speed: contracts and bits are those of the emulated ones
// (kernels/emulator/plugin) and of those on a GPU.
#include <algorithm>
#include <memory>

#include "kernels/call/parallel_tasks.hpp"
#include "kernels/strict/machine.hpp"
#include "kernels/strict/row_gradients.hpp"

#define SOFTCHECK_EXPORT extern "C" __attribute__((visibility("default")))

namespace softcheck::kernels::strict {
namespace {

// Rows of a task are so many that taking a task costs nothing beside them.
constexpr std::int64_t task_elements = std::int64_t{1} << 15;

template <class Rows, class Op>
void run_rows(const CallViews& views, Op op) {
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

// Adaptive ops have no temperature of their own: beta is it.
bool has_temperature(const softcheck_call* call) {
  return call == nullptr || call->abi_version != SOFTCHECK_KERNEL_ABI_VERSION || call->theta != 1;
}

}  // namespace
}  // namespace softcheck::kernels::strict

namespace kernels = softcheck::kernels;

SOFTCHECK_EXPORT int softcheck_strict_softmax(const softcheck_call* call) {
  return kernels::strict::run(call, kernels::call::Form::elements,
                              [](auto& rows, std::int64_t row) { rows.softmax(row); });
}

SOFTCHECK_EXPORT int softcheck_strict_entropy(const softcheck_call* call) {
  return kernels::strict::run(call, kernels::call::Form::rows, [](auto& rows, std::int64_t row) { rows.entropy(row); });
}

SOFTCHECK_EXPORT int softcheck_strict_log_softmax(const softcheck_call* call) {
  return kernels::strict::run(call, kernels::call::Form::elements,
                              [](auto& rows, std::int64_t row) { rows.log_softmax(row); });
}

SOFTCHECK_EXPORT int softcheck_strict_logsumexp(const softcheck_call* call) {
  return kernels::strict::run(call, kernels::call::Form::rows,
                              [](auto& rows, std::int64_t row) { rows.logsumexp(row); });
}

SOFTCHECK_EXPORT int softcheck_strict_adaptive_softmax(const softcheck_call* call) {
  if (kernels::strict::has_temperature(call)) return 1;
  return kernels::strict::run(call, kernels::call::Form::elements,
                              [](auto& rows, std::int64_t row) { rows.adaptive_softmax(row); });
}

// (logits[, mask]) to (rows), nats squared.
SOFTCHECK_EXPORT int softcheck_strict_varentropy(const softcheck_call* call) {
  return kernels::strict::run(call, kernels::call::Form::rows,
                              [](auto& rows, std::int64_t row) { rows.varentropy(row); });
}

// (logits[, mask]) to m, S - 1, T, U, each (rows) and as many as are asked for, all of one format.
SOFTCHECK_EXPORT int softcheck_strict_row_statistics(const softcheck_call* call) {
  return kernels::strict::run(call, kernels::call::Form::statistics,
                              [](auto& rows, std::int64_t row) { rows.row_statistics(row); });
}

// (logits, gradient with respect to the probabilities[, mask]) to the gradient with respect to the logits.
SOFTCHECK_EXPORT int softcheck_strict_adaptive_softmax_backward(const softcheck_call* call) {
  if (kernels::strict::has_temperature(call)) return 1;
  return kernels::strict::run<kernels::strict::StrictRowGradients>(
      call, kernels::call::Form::gradient, [](auto& rows, std::int64_t row) { rows.adaptive_softmax(row); });
}
