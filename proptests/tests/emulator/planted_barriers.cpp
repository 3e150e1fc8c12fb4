// Barriers that not every thread of the block comes to.
#include "proptests/tests/emulator/planted.hpp"

namespace softcheck::emulator_tests {
namespace {

void barrier_in_branch(Block& block, const Buffers& buffers, bool planted) {
  const auto shared = block.shared<float>(block.size());
  shared.store(block.rank(), buffers.in.load(block.rank()));
  if (!planted) {
    block.sync();
  } else if (block.rank() < 40) {
    block.sync();  // <- barrier_in_branch
  } else {
    block.sync();  // <- barrier_in_branch
  }
  buffers.out.store(block.rank(), shared.load(block.size() - 1 - block.rank()));
}

// "Threads without an element have nothing to do."
void exit_before_barrier(Block& block, const Buffers& buffers, bool planted) {
  const auto shared = block.shared<float>(block.size());
  const bool idle = block.rank() >= buffers.in.size();
  if (idle && planted) return;
  shared.store(block.rank(), idle ? 0 : buffers.in.load(block.rank()));
  block.sync();  // <- exit_before_barrier
  if (!idle && block.index() == 0) buffers.out.store(block.rank(), shared.load(0));
}

// One turn more for the threads below the remainder.
void barrier_in_uneven_loop(Block& block, const Buffers& buffers, bool planted) {
  const std::int64_t n = buffers.in.size();
  const std::int64_t turns = (n + block.size() - 1) / block.size();
  float sum = 0;
  for (std::int64_t turn = 0; turn < turns; ++turn) {
    const std::int64_t i = turn * block.size() + block.rank();
    if (i < n) sum += buffers.in.load(i);
    if (planted && i >= n) break;
    block.sync();  // <- barrier_in_uneven_loop
  }
  const auto shared = block.shared<float>(block.size());
  shared.store(block.rank(), sum);
  block.sync();  // <- barrier_in_uneven_loop
  buffers.out.store(block.rank(), shared.load(0));
}

// The reduction's barrier inside the condition of who still adds.
void barrier_of_the_adders(Block& block, const Buffers& buffers, bool planted) {
  const auto shared = block.shared<float>(block.size());
  shared.store(block.rank(), buffers.in.load(block.rank()));
  block.sync();
  for (int half = block.size() / 2; half > 0; half /= 2) {
    if (block.rank() < half) {
      shared.store(block.rank(), shared.load(block.rank()) + shared.load(block.rank() + half));
      if (planted) block.sync();  // <- barrier_of_the_adders
    }
    if (!planted) block.sync();
  }
  if (block.rank() == 0) buffers.out.store(0, shared.load(0));
}

// Only warp 0 writes the result, and meets the others at a barrier that they have passed.
void barrier_skipped_by_a_warp(Block& block, const Buffers& buffers, bool planted) {
  const auto total = block.shared<float>(1);
  if (block.rank() == 0) total.store(0, buffers.in.load(0));
  if (!planted || block.warp() == 0) block.sync();  // <- barrier_skipped_by_a_warp
  buffers.out.store(block.rank(), planted ? 0 : total.load(0));
}

constexpr auto kind = FindingKind::divergent_barrier;
constexpr Planted all[] = {
    {"barrier_in_branch", __FILE__, kind, {1, 64, 256}, 64, 64, barrier_in_branch},
    {"exit_before_barrier", __FILE__, kind, {2, 64, 256}, 50, 64, exit_before_barrier},
    {"barrier_in_uneven_loop", __FILE__, kind, {1, 64, 256}, 100, 64, barrier_in_uneven_loop},
    {"barrier_of_the_adders", __FILE__, kind, {1, 64, 256}, 64, 1, barrier_of_the_adders},
    {"barrier_skipped_by_a_warp", __FILE__, kind, {1, 96, 4}, 1, 96, barrier_skipped_by_a_warp},
};

}  // namespace

std::span<const Planted> planted_barriers() { return all; }

}  // namespace softcheck::emulator_tests
