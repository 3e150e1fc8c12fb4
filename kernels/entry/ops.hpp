#pragma once

#include "kernels/abi/softcheck_kernel.h"

// The list of all ops that our machines (CPU, GPU, emulator, strict) export; contracts.tsv has their contracts. A
// machine names the prefix of its symbols and a type Ops: the symbol PREFIXop calls Ops::op(call). If the type lacks an
// op, the machine does not compile.

/// A symbol of a plug-in. All others are hidden.
#define SOFTCHECK_EXPORT extern "C" __attribute__((visibility("default")))

#define SOFTCHECK_ENTRY(prefix, op, ...) \
  SOFTCHECK_EXPORT int prefix##op(const softcheck_call* call) { return __VA_ARGS__::op(call); }

/// logits[, mask] to one value per element or per row. row_statistics: m, S - 1, T, U, each (rows), or the first of
/// these; varentropy: nats squared; adaptive_softmax_backward: logits, dL/dp[, mask] to dL/dx.
#define SOFTCHECK_ROW_ENTRIES(prefix, ...)               \
  SOFTCHECK_ENTRY(prefix, softmax, __VA_ARGS__)          \
  SOFTCHECK_ENTRY(prefix, log_softmax, __VA_ARGS__)      \
  SOFTCHECK_ENTRY(prefix, logsumexp, __VA_ARGS__)        \
  SOFTCHECK_ENTRY(prefix, entropy, __VA_ARGS__)          \
  SOFTCHECK_ENTRY(prefix, adaptive_softmax, __VA_ARGS__) \
  SOFTCHECK_ENTRY(prefix, row_statistics, __VA_ARGS__)   \
  SOFTCHECK_ENTRY(prefix, varentropy, __VA_ARGS__)       \
  SOFTCHECK_ENTRY(prefix, adaptive_softmax_backward, __VA_ARGS__)

/// By version 2 of a call (kernels/abi/softcheck_kernel.h): losses, their gradients, and gradients from saved outputs.
#define SOFTCHECK_LOSS_ENTRIES(prefix, ...)                    \
  SOFTCHECK_ENTRY(prefix, cross_entropy, __VA_ARGS__)          \
  SOFTCHECK_ENTRY(prefix, cross_entropy_backward, __VA_ARGS__) \
  SOFTCHECK_ENTRY(prefix, softmax_backward, __VA_ARGS__)       \
  SOFTCHECK_ENTRY(prefix, log_softmax_backward, __VA_ARGS__)

/// And on the CPU alone: the mean of losses and its gradient, the k largest coefficients, and merges of partial
/// results.
#define SOFTCHECK_CPU_ENTRIES(prefix, ...)                          \
  SOFTCHECK_ENTRY(prefix, cross_entropy_mean, __VA_ARGS__)          \
  SOFTCHECK_ENTRY(prefix, cross_entropy_mean_backward, __VA_ARGS__) \
  SOFTCHECK_ENTRY(prefix, topk_softmax, __VA_ARGS__)                \
  SOFTCHECK_ENTRY(prefix, merge_states, __VA_ARGS__)

/// q, k, v[, mask] to out, lse, entropy, largest score. varlen: packed sequences (kernels/call/packed_views.hpp), with
/// the bits of a separate call for each; memory after the last one is neither read nor written.
#define SOFTCHECK_ATTENTION_ENTRIES(prefix, ...)           \
  SOFTCHECK_ENTRY(prefix, attention, __VA_ARGS__)          \
  SOFTCHECK_ENTRY(prefix, adaptive_attention, __VA_ARGS__) \
  SOFTCHECK_ENTRY(prefix, attention_varlen, __VA_ARGS__)   \
  SOFTCHECK_ENTRY(prefix, adaptive_attention_varlen, __VA_ARGS__)

/// q, k[, mask] to each query's scores' m, S - 1, T, U.
#define SOFTCHECK_STATISTICS_ENTRIES(prefix, ...)            \
  SOFTCHECK_ENTRY(prefix, attention_statistics, __VA_ARGS__) \
  SOFTCHECK_ENTRY(prefix, attention_statistics_varlen, __VA_ARGS__)

/// q, k, v, dL/dout[, mask] to dL/dq, dL/dk, dL/dv.
#define SOFTCHECK_BACKWARD_ENTRIES(prefix, ...)                     \
  SOFTCHECK_ENTRY(prefix, attention_backward, __VA_ARGS__)          \
  SOFTCHECK_ENTRY(prefix, adaptive_attention_backward, __VA_ARGS__) \
  SOFTCHECK_ENTRY(prefix, attention_backward_varlen, __VA_ARGS__)   \
  SOFTCHECK_ENTRY(prefix, adaptive_attention_backward_varlen, __VA_ARGS__)
