#pragma once

#include <type_traits>

#include "kernels/block/abi/element_types.hpp"
#include "kernels/block/row_kernels.hpp"
#include "kernels/cpu/call_views.hpp"

// From a call of the ABI to a row kernel's launch, on either machine. Host code.
namespace softcheck::kernels {

/// view as elements of T; its strides are multiples of their size.
template <class B, class T>
Matrix<typename B::template Global<T>> matrix_of(const View& view) {
  constexpr auto size = static_cast<std::int64_t>(sizeof(T));
  const std::int64_t row_stride = view.row_stride / size, column_stride = view.column_stride / size;
  const bool empty = view.rows == 0 || view.columns == 0;
  const std::int64_t count = empty ? 0 : (view.rows - 1) * row_stride + (view.columns - 1) * column_stride + 1;
  return {{reinterpret_cast<T*>(view.data), count}, row_stride, column_stride};
}

template <class B, class Element, class Result>
RowArguments<B, Element, Result> row_arguments(const CallViews& views) {
  RowArguments<B, Element, Result> arguments;
  arguments.logits.values = matrix_of<B, const Element>(views.logits);
  if (views.mask) arguments.logits.mask = matrix_of<B, const std::uint8_t>(*views.mask);
  arguments.logits.masked = views.mask.has_value();
  arguments.logits.rows = views.logits.rows;
  arguments.logits.columns = views.logits.columns;
  arguments.results = matrix_of<B, Result>(views.output());
  arguments.scale = static_cast<Accumulator<Element>>(1 / views.theta);
  arguments.theta = views.theta;
  return arguments;
}

/// Launcher::run<Kernel, Element, Result>(arguments) for the formats of the call; 1, a refusal, where it is none of the
/// softmax family.
template <class Kernel, class Launcher>
int run_row_call(const softcheck_call* call, Form form, const Launcher& launcher) {
  const std::optional<CallViews> views = call_views(call, form);
  if (!views) return 1;
  return with_element(views->logits.storage, [&]<class Element>(std::type_identity<Element>) {
    using B = typename Launcher::Block;
    if (views->output().storage == views->logits.storage) {
      return launcher.template run<Kernel>(row_arguments<B, Element, Element>(*views));
    }
    if constexpr (!std::is_same_v<Element, double> &&
                  (std::is_same_v<Kernel, EntropyKernel> || std::is_same_v<Kernel, LogsumexpKernel>)) {
      return launcher.template run<Kernel>(row_arguments<B, Element, float>(*views));
    }
    return 1;
  });
}

/// Launcher::run_backward(arguments) of adaptive softmax: logits, the gradient of its results[, mask] to that of the
/// logits; 1, a refusal, as for run_row_call. It has no temperature of its own: beta is it.
template <class Launcher>
int run_row_backward_call(const softcheck_call* call, const Launcher& launcher) {
  const std::optional<CallViews> views = call_views(call, Form::gradient);
  if (!views || views->theta != 1) return 1;
  return with_element(views->logits.storage, [&]<class Element>(std::type_identity<Element>) {
    using B = typename Launcher::Block;
    return launcher.run_backward(RowGradientArguments<B, Element>{row_arguments<B, Element, Element>(*views),
                                                                  matrix_of<B, const Element>(*views->gradient)});
  });
}

}  // namespace softcheck::kernels
