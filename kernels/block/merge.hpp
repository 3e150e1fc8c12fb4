#pragma once

#include <cstddef>

#include "kernels/block/context.hpp"

namespace softcheck::kernels {

/// The states of a warp's 32 lanes merged in pairs, then fours, and so on: five levels. All lanes call it, and all get
/// the same bits, because the lower lane's state is always merge's left argument.
///
/// State    trivially copyable
/// merge    (left, right) -> State, the same function in every lane
template <BlockContext B, class State, class Merge>
SOFTCHECK_BODY State merged_by_warp(B& block, State own, Merge merge) {
  for (int distance = 1; distance < warp_size; distance *= 2) {
    const State other = block.shuffle_xor(whole_warp, own, distance);
    const bool upper = (block.lane() & distance) != 0;
    own = merge(upper ? other : own, upper ? own : other);
  }
  return own;
}

/// The states of all threads of a block merged, returned to every thread with the same bits. The tree depends only on
/// the block's size: lanes, then warps. All threads of the block call it; it has two barriers, so that what the threads
/// read from shared memory before the call may be overwritten after it.
///
/// block      size() a multiple of 32, at most 1024
/// partials   shared memory, one State a warp (merging_bytes); free again when the call returns
/// neutral    merge's neutral element: the state of a warp that the block does not have
template <BlockContext B, class Partials, class State, class Merge>
SOFTCHECK_BODY State merged_by_block(B& block, const Partials& partials, State own, const State& neutral, Merge merge) {
  own = merged_by_warp(block, own, merge);
  if (block.lane() == 0) partials.store(block.warp(), own);
  block.sync();
  const bool has_warp = block.lane() < block.size() / warp_size;
  own = merged_by_warp(block, has_warp ? partials.load(block.lane()) : neutral, merge);
  block.sync();  // the partials are free again
  return own;
}

/// Shared memory of merged_by_block in a block of that many threads, in bytes: one State a warp.
template <class State>
constexpr std::size_t merging_bytes(int threads) {
  return static_cast<std::size_t>(threads / warp_size) * sizeof(State);
}

}  // namespace softcheck::kernels
