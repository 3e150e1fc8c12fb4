#pragma once

#include <type_traits>

#include "kernels/block/abi/element_types.hpp"
#include "kernels/block/row_kernels.hpp"
#include "kernels/call/call_views.hpp"

// From a call of the ABI to the launch of a row kernel, on either machine. Host code. A Launcher has the type Block,
// its block context, and launches a body by run<Kernel>(arguments) or run_backward(arguments). The functions below that
// return an int return that of the launcher, or 1, a refusal.
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

/// The arguments of a call with one output.
template <class B, class Element, class Result>
RowArguments<B, Element, Result> row_arguments(const call::CallViews& views) {
  return {logits_of<B, Element>(views), matrix_of<B, Result>(views.output()),
          static_cast<Accumulator<Element>>(1 / views.theta), views.theta};
}

/// The arguments of a call of row_statistics.
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

/// Launches Kernel, a type of kernels/block/row_kernels.hpp, for a call of the ABI. Refuses calls that do not fit the
/// kernel, formats that it lacks, and theta != 1 if the kernel has no theta.
template <class Kernel, class Launcher>
int run_row_call(const softcheck_call* call, const Launcher& launcher) {
  const std::optional<call::CallViews> views =
      call::call_views(call, Kernel::of_rows ? call::Form::rows : call::Form::elements);
  if (!views || (!Kernel::has_theta && views->theta != 1)) return 1;
  return with_formats<Kernel::of_rows>(
      *views, [&]<class Element, class Result>(std::type_identity<Element>, std::type_identity<Result>) {
        return launcher.template run<Kernel>(row_arguments<typename Launcher::Block, Element, Result>(*views));
      });
}

/// Launches row_statistics for a call with one to four outputs, all of one format.
template <class Launcher>
int run_statistics_call(const softcheck_call* call, const Launcher& launcher) {
  const std::optional<call::CallViews> views = call::call_views(call, call::Form::statistics);
  if (!views) return 1;
  return with_formats<true>(
      *views, [&]<class Element, class Result>(std::type_identity<Element>, std::type_identity<Result>) {
        using B = typename Launcher::Block;
        return launcher.template run<RowStatisticsKernel>(statistics_arguments<B, Element, Result>(*views));
      });
}

/// Launches adaptive softmax backward for a call of the ABI: logits, dL/dp[, mask] to dL/d(logits). Refuses as
/// run_row_call, and theta != 1, as beta takes its place.
template <class Launcher>
int run_row_backward_call(const softcheck_call* call, const Launcher& launcher) {
  const std::optional<call::CallViews> views = call::call_views(call, call::Form::gradient);
  if (!views || views->theta != 1) return 1;
  return with_element(views->logits.storage, [&]<class Element>(std::type_identity<Element>) {
    using B = typename Launcher::Block;
    return launcher.run_backward(RowGradientArguments<B, Element>{row_arguments<B, Element, Element>(*views),
                                                                  matrix_of<B, const Element>(*views->gradient)});
  });
}

}  // namespace softcheck::kernels
