#pragma once

#include <cstddef>

#include "kernels/block/context.hpp"

namespace softcheck::kernels {

/// The lanes' states merged in pairs, then fours, ...: every lane gets the same bits, as the lower lane's state is
/// always the left one.
template <BlockContext B, class State, class Merge>
SOFTCHECK_BODY State merged_by_warp(B& block, State own, Merge merge) {
  for (int distance = 1; distance < warp_size; distance *= 2) {
    const State other = block.shuffle_xor(whole_warp, own, distance);
    const bool upper = (block.lane() & distance) != 0;
    own = merge(upper ? other : own, upper ? own : other);
  }
  return own;
}

/// All threads' states merged, for all threads: lanes, then warps, in a tree that depends on the block's size alone.
/// partials: one a warp; block.size() is a multiple of 32. neutral is merge's neutral element.
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

/// Shared memory for one State a warp, in bytes.
template <class State>
constexpr std::size_t merging_bytes(int threads) {
  return static_cast<std::size_t>(threads / warp_size) * sizeof(State);
}

}  // namespace softcheck::kernels
