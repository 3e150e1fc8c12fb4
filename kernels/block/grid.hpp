#pragma once

#include <cstdint>

#include "kernels/block/context.hpp"

namespace softcheck::kernels {

/// The context of a thread whose block runs at the same time as all other blocks of its grid: on a GPU, a cooperative
/// launch. Blocks meet by counters in global memory, which are 0 before the launch.
///
/// signal(counters, i)            adds 1 to counter i
/// wait_for(counters, i, count)   returns when counter i has reached count, modulo 2^32
///
/// Every access of a block before its last barrier, and of a thread before it signals, comes before what another block
/// does behind the barrier that follows a wait_for that needs this signal.
template <class B>
concept GridContext = BlockContext<B> &&
    requires(B& block, typename B::template Global<std::uint32_t> counters, std::int64_t i, std::uint32_t count) {
  block.signal(counters, i);
  block.wait_for(counters, i, count);
};

/// Whether a counter has reached count. Both may have passed 2^32.
SOFTCHECK_BODY bool has_reached(std::uint32_t counter, std::uint32_t count) {
  return static_cast<std::int32_t>(counter - count) >= 0;
}

}  // namespace softcheck::kernels
