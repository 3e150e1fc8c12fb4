#pragma once

#include "kernels/entry/ops.hpp"

/// Row ops in f32, f16 and bf16 by the order of kernels/block/tree_order.hpp.
#define SOFTCHECK_TREE_ENTRIES(prefix, ...)                  \
  SOFTCHECK_ENTRY(prefix, softmax, __VA_ARGS__)              \
  SOFTCHECK_ENTRY(prefix, log_softmax, __VA_ARGS__)          \
  SOFTCHECK_ENTRY(prefix, logsumexp, __VA_ARGS__)            \
  SOFTCHECK_ENTRY(prefix, entropy, __VA_ARGS__)              \
  SOFTCHECK_ENTRY(prefix, adaptive_softmax, __VA_ARGS__)     \
  SOFTCHECK_ENTRY(prefix, softmax_backward, __VA_ARGS__)     \
  SOFTCHECK_ENTRY(prefix, log_softmax_backward, __VA_ARGS__) \
  SOFTCHECK_ENTRY(prefix, cross_entropy, __VA_ARGS__)        \
  SOFTCHECK_ENTRY(prefix, cross_entropy_backward, __VA_ARGS__)
