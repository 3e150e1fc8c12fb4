#pragma once

#include "kernels/block/adaptive_backward.hpp"

namespace softcheck::kernels {

/// Threads of a block of every row kernel but the tree kernels. The bits of a row depend on it, so every machine has
/// the same number.
inline constexpr int row_threads = 128;

/// Shared memory that the launcher gives a block of any of them, in bytes.
inline constexpr std::size_t row_shared_bytes =
    merging_bytes<RowStatistics<double>>(row_threads) + merging_bytes<GradientSums<double>>(row_threads);

}  // namespace softcheck::kernels
