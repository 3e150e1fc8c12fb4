#pragma once

#include "kernels/block/abi/row_calls.hpp"
#include "kernels/block/abi/tree_views.hpp"
#include "kernels/block/tree_rows.hpp"

// From a call of the ABI to the launch of a tree kernel, on either machine. Host code. A Launcher has the type Block
// and launches Rows::run<Op> by run<Op, Rows>(arguments, warps of a block).
namespace softcheck::kernels {

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

/// Launches Op, a type of namespace tree, for a call of the ABI. Refuses what run_row_call refuses, and f64.
template <class Op, class Launcher>
int run_tree_call(const softcheck_call* call, const Launcher& launcher) {
  const std::optional<TreeViews> views = tree_views<Op>(call);
  if (!views || (!Op::has_theta && views->theta != 1)) return 1;
  return with_formats<Op::of_rows>(
      *views, [&]<class Element, class Result>(std::type_identity<Element>, std::type_identity<Result>) {
        if constexpr (std::is_same_v<Element, double>) {
          return 1;
        } else {
          using B = typename Launcher::Block;
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
        }
      });
}

/// The ops of a machine with that launcher, as SOFTCHECK_TREE_ENTRIES takes them: Run::run<Op>(call).
template <class Run>
struct TreeOps {
  static int softmax(const softcheck_call* call) { return Run::template run<tree::SoftmaxKernel>(call); }
  static int log_softmax(const softcheck_call* call) { return Run::template run<tree::LogSoftmaxKernel>(call); }
  static int logsumexp(const softcheck_call* call) { return Run::template run<tree::LogsumexpKernel>(call); }
  static int entropy(const softcheck_call* call) { return Run::template run<tree::EntropyKernel>(call); }
  static int adaptive_softmax(const softcheck_call* call) {
    return Run::template run<tree::AdaptiveSoftmaxKernel>(call);
  }
  static int softmax_backward(const softcheck_call* call) {
    return Run::template run<tree::SoftmaxBackwardKernel>(call);
  }
  static int log_softmax_backward(const softcheck_call* call) {
    return Run::template run<tree::LogSoftmaxBackwardKernel>(call);
  }
  static int cross_entropy(const softcheck_call* call) { return Run::template run<tree::CrossEntropyKernel>(call); }
  static int cross_entropy_backward(const softcheck_call* call) {
    return Run::template run<tree::CrossEntropyBackwardKernel>(call);
  }
};

}  // namespace softcheck::kernels
