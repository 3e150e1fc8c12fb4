#pragma once

#include "kernels/block/adaptive_softmax.hpp"
#include "kernels/block/adaptive_softmax_backward.hpp"
#include "kernels/block/log_softmax.hpp"

namespace softcheck::kernels {

/// Threads of a block of every row kernel. A row's bits depend on it: it is the same on both machines.
inline constexpr int row_threads = 128;

/// Shared memory that any row kernel asks for, in bytes.
template <class T>
inline constexpr std::size_t row_shared_bytes =
    merging_bytes<RowStatistics<T>>(row_threads) + merging_bytes<CompensatedSum<T>>(row_threads);

/// And the backward one.
template <class T>
inline constexpr std::size_t row_backward_bytes =
    merging_bytes<RowStatistics<T>>(row_threads) + merging_bytes<GradientSums<T>>(row_threads);

// The kernels by name, for launchers that are templates over which one they launch. of_rows: one result a row, in the
// logits' format or in the wide one; else one an item. has_theta: whether a temperature may be asked for.
struct ElementKernel {
  static constexpr bool of_rows = false, has_theta = true;
};
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
