#pragma once

#include "kernels/block/log_softmax.hpp"
#include "kernels/block/softmax.hpp"

namespace softcheck::kernels {

/// Threads of a block of every row kernel. The bits of a row depend on it, so every machine has the same number.
inline constexpr int row_threads = 128;

/// Shared memory that the launcher gives a block of any forward row kernel, in bytes. adaptive_softmax_body uses all of
/// it, the others its first part.
template <class T>
inline constexpr std::size_t row_shared_bytes =
    merging_bytes<RowStatistics<T>>(row_threads) + merging_bytes<CompensatedSum<T>>(row_threads);

/// Shared memory of a block of adaptive_softmax_backward_body, in bytes.
template <class T>
inline constexpr std::size_t row_backward_bytes =
    merging_bytes<RowStatistics<T>>(row_threads) + merging_bytes<GradientSums<T>>(row_threads);

// The kernels as types, for run_row_call (kernels/block/abi/row_calls.hpp) and the launchers, which are templates over
// the kernel. Kernel::run(block, arguments) is the body; every thread of every block calls it.

/// A kernel with one result an item, in the logits' format. of_rows: whether the kernel has one result a row.
/// has_theta: whether the caller may pass theta != 1.
struct ElementKernel {
  static constexpr bool of_rows = false, has_theta = true;
};
/// A kernel with one result a row, in the logits' format or, of 16-bit logits, in f32.
struct RowKernel {
  static constexpr bool of_rows = true, has_theta = true;
};

struct SoftmaxKernel : ElementKernel {
  template <class B, class Element>
  static SOFTCHECK_BODY void run(B& block, const RowArguments<B, Element, Element>& arguments) {
    softmax_body(block, arguments);
  }
};

struct AdaptiveSoftmaxKernel : ElementKernel {
  static constexpr bool has_theta = false;
  template <class B, class Element>
  static SOFTCHECK_BODY void run(B& block, const RowArguments<B, Element, Element>& arguments) {
    adaptive_softmax_body(block, arguments);
  }
};

struct LogSoftmaxKernel : ElementKernel {
  template <class B, class Element>
  static SOFTCHECK_BODY void run(B& block, const RowArguments<B, Element, Element>& arguments) {
    log_softmax_body(block, arguments);
  }
};

struct LogsumexpKernel : RowKernel {
  template <class B, class Element, class Result>
  static SOFTCHECK_BODY void run(B& block, const RowArguments<B, Element, Result>& arguments) {
    logsumexp_body(block, arguments);
  }
};

struct EntropyKernel : RowKernel {
  template <class B, class Element, class Result>
  static SOFTCHECK_BODY void run(B& block, const RowArguments<B, Element, Result>& arguments) {
    entropy_body(block, arguments);
  }
};

struct VarentropyKernel : RowKernel {
  template <class B, class Element, class Result>
  static SOFTCHECK_BODY void run(B& block, const RowArguments<B, Element, Result>& arguments) {
    varentropy_body(block, arguments);
  }
};

struct RowStatisticsKernel {
  template <class B, class Element, class Result>
  static SOFTCHECK_BODY void run(B& block, const StatisticsArguments<B, Element, Result>& arguments) {
    row_statistics_body(block, arguments);
  }
};

}  // namespace softcheck::kernels
