// Warp operations whose masks or lanes do not agree.
#include "proptests/tests/emulator/planted.hpp"

namespace softcheck::emulator_tests {
namespace {

// Half of the warp calls for all of it; the other half is at the barrier behind.
void shuffle_in_branch(Block& block, const Buffers& buffers, bool planted) {
  float value = buffers.in.load(block.lane());
  if (block.lane() < 16 || !planted) {
    value += block.shuffle_xor(whole_warp, value, 8);  // <- shuffle_in_branch
  }
  block.sync();  // <- shuffle_in_branch
  buffers.out.store(block.lane(), value);
}

void shuffle_after_exit(Block& block, const Buffers& buffers, bool planted) {
  const bool idle = block.lane() >= buffers.in.size();
  const float value = idle ? 0 : buffers.in.load(block.lane());
  if (idle && planted) return;
  const float sum = value + block.shuffle_xor(whole_warp, value, 1);  // <- shuffle_after_exit
  if (!idle) buffers.out.store(block.lane(), sum);
}

void mask_without_the_caller(Block& block, const Buffers& buffers, bool planted) {
  const unsigned lower = 0x0000ffffU;
  const float value = buffers.in.load(block.lane());
  if (block.lane() < 16 + (planted ? 1 : 0)) {
    buffers.out.store(block.lane(), block.shuffle_xor(lower, value, 1));  // <- mask_without_the_caller
  }
}

// Lane 15 asks for lane 16's, which is not in the mask.
void value_of_a_lane_outside_the_mask(Block& block, const Buffers& buffers, bool planted) {
  if (block.lane() >= 16) return;
  const float value = buffers.in.load(block.lane());
  const int distance = planted || block.lane() < 15 ? 1 : 0;
  const float next = block.shuffle_down(0x0000ffffU, value, distance);  // <- value_of_a_lane_outside_the_mask
  buffers.out.store(block.lane(), next);
}

// Each lane gives the mask of the lanes it believes to be active.
void masks_that_differ(Block& block, const Buffers& buffers, bool planted) {
  const unsigned mask = planted && block.lane() >= 16 ? 0xffff8000U : whole_warp;
  const bool vote = block.any(mask, block.lane() == 3);  // <- masks_that_differ
  buffers.out.store(block.lane(), vote ? buffers.in.load(0) : 0);
}

void operations_that_differ(Block& block, const Buffers& buffers, bool planted) {
  float value = buffers.in.load(block.lane());
  if (block.lane() % 2 == 0 || !planted) {
    value = block.shuffle_xor(whole_warp, value, 1);  // <- operations_that_differ
  } else {
    value = block.shuffle_down(whole_warp, value, 1);  // <- operations_that_differ
  }
  buffers.out.store(block.lane(), value);
}

// 48 threads are a warp and a half.
void mask_beyond_the_block(Block& block, const Buffers& buffers, bool planted) {
  const unsigned present = block.warp() == 1 ? 0x0000ffffU : whole_warp;
  const float value = buffers.in.load(block.rank());
  const float sum = value + block.shuffle_xor(planted ? whole_warp : present, value, 1);  // <- mask_beyond_the_block
  buffers.out.store(block.rank(), sum);
}

void vote_in_uneven_loop(Block& block, const Buffers& buffers, bool planted) {
  const int turns = planted && block.lane() >= 20 ? 1 : 2;
  bool all = true;
  for (int turn = 0; turn < turns; ++turn) {
    all = block.all(whole_warp, buffers.in.load(turn) > 0) && all;  // <- vote_in_uneven_loop
  }
  block.sync_warp(whole_warp);  // <- vote_in_uneven_loop
  buffers.out.store(block.lane(), all ? 1 : 0);
}

constexpr auto divergent = FindingKind::divergent_warp;
constexpr auto mask = FindingKind::warp_mask;
constexpr Planted planted[] = {
    {"shuffle_in_branch", __FILE__, divergent, {1, 32, 0}, 32, 32, shuffle_in_branch},
    {"shuffle_after_exit", __FILE__, divergent, {1, 32, 0}, 20, 32, shuffle_after_exit},
    {"mask_without_the_caller", __FILE__, mask, {1, 32, 0}, 32, 32, mask_without_the_caller},
    {"value_of_a_lane_outside_the_mask", __FILE__, mask, {1, 32, 0}, 32, 32, value_of_a_lane_outside_the_mask},
    {"masks_that_differ", __FILE__, divergent, {1, 32, 0}, 1, 32, masks_that_differ},
    {"operations_that_differ", __FILE__, divergent, {1, 32, 0}, 32, 32, operations_that_differ},
    {"mask_beyond_the_block", __FILE__, divergent, {1, 48, 0}, 48, 48, mask_beyond_the_block},
    {"vote_in_uneven_loop", __FILE__, divergent, {1, 32, 0}, 2, 32, vote_in_uneven_loop},
};

}  // namespace

std::span<const Planted> planted_warps() { return planted; }

}  // namespace softcheck::emulator_tests
