#pragma once

#include <concepts>

#include "kernels/block/context.hpp"

namespace softcheck::kernels {

/// The context of a thread whose block is one of a cluster: these run at the same time and reach each other's shared
/// memory.
///
/// cluster_rank, cluster_size   this block in its cluster; blocks of the cluster
/// sync_cluster                 the barrier of the cluster: every thread calls it. It orders memory, also shared memory
///                              of other blocks
/// of_block(view, k)            the elements of another block of the cluster that this block has in a shared view. Only
///                              between the first barrier of the cluster and the last one: else that block may not
///                              have begun, or have ended
template <class B>
concept ClusterContext = BlockContext<B> && requires(B& block, typename B::template Shared<float> shared, int k) {
  { block.cluster_rank() } -> std::same_as<int>;
  { block.cluster_size() } -> std::same_as<int>;
  block.sync_cluster();
  { block.of_block(shared, k) } -> std::same_as<typename B::template Shared<float>>;
};

}  // namespace softcheck::kernels
