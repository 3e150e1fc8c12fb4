#pragma once

#include <type_traits>

#include "kernels/block/abi/element_types.hpp"
#include "kernels/block/abi/tree_views.hpp"
#include "kernels/block/f64_rows.hpp"
#include "kernels/block/row_kernels.hpp"

// From a call of the ABI to the launch of a row kernel, on either machine. Host code. A Launcher has the types RowBlock
// and TreeBlock, its block contexts. It launches Kernel::run by run<Kernel>(arguments), and Rows::run<Op>, a body of
// kernels/block/tree_rows.hpp, by run<Op, Rows>(arguments, warps of a block). The functions below that return an int
// return that of the launcher, or 1, a refusal.
namespace softcheck::kernels {

/// A view of the call as a matrix of elements T, whose size divides the view's strides.
template <class B, class T>
Matrix<typename B::template Global<T>> matrix_of(const call::View& view) {
  constexpr auto size = static_cast<std::int64_t>(sizeof(T));
  const std::int64_t row_stride = view.row_stride / size, column_stride = view.column_stride / size;
  const bool empty = view.rows == 0 || view.columns == 0;
  const std::int64_t count = empty ? 0 : (view.rows - 1) * row_stride + (view.columns - 1) * column_stride + 1;
  return {{reinterpret_cast<T*>(view.data), count}, row_stride, column_stride};
}

/// The logits and the mask of a call.
template <class B, class Element>
Logits<B, Element> logits_of(const call::CallViews& views) {
  Logits<B, Element> logits;
  logits.values = matrix_of<B, const Element>(views.logits);
  if (views.mask) logits.mask = matrix_of<B, const std::uint8_t>(*views.mask);
  logits.masked = views.mask.has_value();
  logits.rows = views.logits.rows;
  logits.columns = views.logits.columns;
  return logits;
}

/// The arguments of a call with one output, in the logits' format.
template <class B, class Element>
RowArguments<B, Element> row_arguments(const call::CallViews& views) {
  return {logits_of<B, Element>(views), matrix_of<B, Element>(views.output()),
          static_cast<Accumulator<Element>>(1 / views.theta), views.theta};
}

/// The arguments of a call of row_statistics or varentropy.
template <class B, class Element, class Result>
StatisticsArguments<B, Element, Result> statistics_arguments(const call::CallViews& views) {
  StatisticsArguments<B, Element, Result> arguments;
  arguments.logits = logits_of<B, Element>(views);
  for (std::uint32_t i = 0; i < views.n_outputs; ++i) arguments.results[i] = matrix_of<B, Result>(views.outputs[i]);
  arguments.scale = static_cast<Accumulator<Element>>(1 / views.theta);
  return arguments;
}

/// Returns run(std::type_identity<Element>(), std::type_identity<Result>()) for the formats of the logits and of all
/// results. Returns 1, a refusal, unless the results have one format: that of the logits or, where may_be_wide, f32 of
/// logits of 16 bits.
template <bool may_be_wide, class Run>
int with_formats(const call::CallViews& views, const Run& run) {
  if (!views.of_one_format()) return 1;
  return with_element(views.logits.storage, [&]<class Element>(std::type_identity<Element> element) {
    if (views.output().storage == views.logits.storage) return run(element, element);
    if constexpr (may_be_wide && sizeof(Element) == 2) return run(element, std::type_identity<float>());
    return 1;
  });
}

/// Launches a kernel of statistics. Refuses calls that do not fit its form, and formats that it lacks.
template <class Kernel, class Launcher>
int run_statistics_call(const softcheck_call* call, call::Form form, const Launcher& launcher) {
  const std::optional<call::CallViews> views = call::call_views(call, form);
  if (!views) return 1;
  return with_formats<true>(*views,
                            [&]<class Element, class Result>(std::type_identity<Element>, std::type_identity<Result>) {
                              using B = typename Launcher::RowBlock;
                              return launcher.template run<Kernel>(statistics_arguments<B, Element, Result>(*views));
                            });
}

/// Launches adaptive softmax backward: logits, dL/dp[, mask] to dL/d(logits). Refuses the same, and theta != 1, as beta
/// takes its place.
template <class Launcher>
int run_row_backward_call(const softcheck_call* call, const Launcher& launcher) {
  const std::optional<call::CallViews> views = call::call_views(call, call::Form::gradient);
  if (!views || views->theta != 1) return 1;
  return with_element(views->logits.storage, [&]<class Element>(std::type_identity<Element>) {
    using B = typename Launcher::RowBlock;
    return launcher.template run<AdaptiveSoftmaxBackwardKernel>(RowGradientArguments<B, Element>{
        row_arguments<B, Element>(*views), matrix_of<B, const Element>(*views->gradient)});
  });
}

/// What a cross-entropy needs beside its logits; logits and upstream are of Elements, or upstream is of floats.
template <class Element, class B>
void add_loss_arguments(const softcheck_call* call, const TreeViews& views, TreeArguments<B, Element>& arguments) {
  const DLTensor& labels = *call->inputs[1];
  call::View places = views.logits;
  places.data = static_cast<std::byte*>(labels.data) + labels.byte_offset;
  places.columns = 1;
  places.row_stride = (labels.strides == nullptr ? 1 : labels.strides[0]) * (labels.dtype.bits / 8);
  arguments.loss.attributes = views.loss_attributes();
  if (labels.dtype.bits == 64) {
    arguments.loss.wide_labels = matrix_of<B, const std::int64_t>(places);
  } else {
    arguments.loss.labels = matrix_of<B, const std::int32_t>(places);
  }
  if (!views.gradient) return;
  if (views.gradient->storage == views.logits.storage) {
    arguments.gradient.values = matrix_of<B, const Element>(*views.gradient);
  } else {
    arguments.loss.upstream = matrix_of<B, const float>(*views.gradient);
  }
}

/// Launches Op, a type of namespace tree. Refuses the same, and theta != 1 if the op has no theta.
template <class Op, class Launcher>
int run_row_call(const softcheck_call* call, const Launcher& launcher) {
  const std::optional<TreeViews> views = tree_views<Op>(call);
  if (!views || (!Op::has_theta && views->theta != 1)) return 1;
  return with_formats<Op::of_rows>(
      *views, [&]<class Element, class Result>(std::type_identity<Element>, std::type_identity<Result>) {
        if constexpr (!std::is_same_v<Element, double>) {
          using B = typename Launcher::TreeBlock;
          TreeArguments<B, Element> arguments;
          arguments.logits = logits_of<B, Element>(*views);
          if constexpr (Op::inputs == 2) {
            arguments.gradient = arguments.logits;
            arguments.gradient.values = matrix_of<B, const Element>(*views->gradient);
          }
          if constexpr (Op::of_labels) add_loss_arguments(call, *views, arguments);
          if constexpr (std::is_same_v<Element, Result>) {
            arguments.results = matrix_of<B, Element>(views->output());
          } else {
            arguments.wide = matrix_of<B, float>(views->output());
          }
          arguments.theta = views->theta;
          arguments.inverse = 1 / views->theta;
          arguments.scale = static_cast<float>(arguments.inverse);
          return with_layout<Op, Element>(arguments.logits.columns, [&]<class Rows>(Rows, int warps) {
            return launcher.template run<Op, Rows>(arguments, warps);
          });
        } else if constexpr (has_f64<Op>) {
          return launcher.template run<F64Rows<Op>>(row_arguments<typename Launcher::RowBlock, double>(*views));
        } else {
          return 1;
        }
      });
}

/// The ops of a machine, as SOFTCHECK_ROW_ENTRIES and SOFTCHECK_LOSS_ENTRIES take them.
///
/// Machine   launched(call, run) returns run(a readable call, a Launcher)
template <class Machine>
struct RowOps {
  static int softmax(const softcheck_call* call) { return run<tree::SoftmaxKernel>(call); }
  static int log_softmax(const softcheck_call* call) { return run<tree::LogSoftmaxKernel>(call); }
  static int logsumexp(const softcheck_call* call) { return run<tree::LogsumexpKernel>(call); }
  static int entropy(const softcheck_call* call) { return run<tree::EntropyKernel>(call); }
  static int adaptive_softmax(const softcheck_call* call) { return run<tree::AdaptiveSoftmaxKernel>(call); }
  static int softmax_backward(const softcheck_call* call) { return run<tree::SoftmaxBackwardKernel>(call); }
  static int log_softmax_backward(const softcheck_call* call) { return run<tree::LogSoftmaxBackwardKernel>(call); }
  static int cross_entropy(const softcheck_call* call) { return run<tree::CrossEntropyKernel>(call); }
  static int cross_entropy_backward(const softcheck_call* call) { return run<tree::CrossEntropyBackwardKernel>(call); }
  static int row_statistics(const softcheck_call* call) {
    return Machine::launched(call, [](const softcheck_call* readable, const auto& launcher) {
      return run_statistics_call<RowStatisticsKernel>(readable, call::Form::statistics, launcher);
    });
  }
  static int varentropy(const softcheck_call* call) {
    return Machine::launched(call, [](const softcheck_call* readable, const auto& launcher) {
      return run_statistics_call<VarentropyKernel>(readable, call::Form::rows, launcher);
    });
  }
  static int adaptive_softmax_backward(const softcheck_call* call) {
    return Machine::launched(call, [](const softcheck_call* readable, const auto& launcher) {
      return run_row_backward_call(readable, launcher);
    });
  }

 private:
  template <class Op>
  static int run(const softcheck_call* call) {
    return Machine::launched(call, [](const softcheck_call* readable, const auto& launcher) {
      return run_row_call<Op>(readable, launcher);
    });
  }
};

}  // namespace softcheck::kernels
