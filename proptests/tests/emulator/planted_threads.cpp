// Threads that do not wait for each other: races on shared memory, barriers and warp operations that not all come to.
#include "proptests/tests/emulator/planted.hpp"

namespace softcheck::emulator_tests {
namespace {

// Shared memory that two threads use with no barrier between.

void race_missing_barrier(Block& block, const Buffers& buffers, bool planted) {
  const auto shared = block.shared<float>(block.size());
  shared.store(block.rank(), buffers.in.load(block.rank()));  // <- race_missing_barrier
  if (!planted) block.sync();
  const int other = (block.rank() + 1) % block.size();
  buffers.out.store(block.rank(), shared.load(other));  // <- race_missing_barrier
}

// The second reduction overwrites partials that slower threads have still to read.
void race_reused_partials(Block& block, const Buffers& buffers, bool planted) {
  const auto partials = block.shared<float>(2);
  float result = 0;
  for (int turn = 0; turn < 2; ++turn) {
    if (block.lane() == 0) partials.store(block.warp(), buffers.in.load(turn));  // <- race_reused_partials
    block.sync();
    result += partials.load(0) + partials.load(1);  // <- race_reused_partials
    if (!planted) block.sync();
  }
  buffers.out.store(block.rank(), result);
}

void race_total_read_early(Block& block, const Buffers& buffers, bool planted) {
  const auto total = block.shared<float>(1);
  block.sync();
  if (block.rank() == block.size() - 1) total.store(0, buffers.in.load(0));  // <- race_total_read_early
  if (!planted) block.sync();
  // Last, so that every schedule but a lucky one has the total written: the shadow tells all the same.
  if (block.rank() != 0 || !planted) buffers.out.store(block.rank(), total.load(0));  // <- race_total_read_early
}

// A warp's barrier where the block's is needed.
void race_between_warps(Block& block, const Buffers& buffers, bool planted) {
  const auto shared = block.shared<float>(block.size());
  shared.store(block.rank(), buffers.in.load(block.rank()));  // <- race_between_warps
  block.sync_warp(whole_warp);
  if (!planted) block.sync();
  const int other = (block.rank() + warp_size) % block.size();
  buffers.out.store(block.rank(), shared.load(other));  // <- race_between_warps
}

// Written for GPUs whose warps ran in lockstep.
void race_in_lockstep(Block& block, const Buffers& buffers, bool planted) {
  const auto shared = block.shared<float>(warp_size);
  shared.store(block.lane(), buffers.in.load(block.lane()));
  block.sync_warp(whole_warp);
  for (int half = warp_size / 2; half > 0; half /= 2) {
    if (block.lane() < half) {
      const float sum = shared.load(block.lane()) + shared.load(block.lane() + half);  // <- race_in_lockstep
      shared.store(block.lane(), sum);                                                 // <- race_in_lockstep
    }
    if (!planted) block.sync_warp(whole_warp);
  }
  if (block.lane() == 0) buffers.out.store(0, shared.load(0));
}

// A shuffle meets all lanes and orders no memory.
void race_across_a_shuffle(Block& block, const Buffers& buffers, bool planted) {
  const auto shared = block.shared<float>(warp_size);
  shared.store(block.lane(), buffers.in.load(block.lane()));  // <- race_across_a_shuffle
  const float other = block.shuffle_xor(whole_warp, buffers.in.load(block.lane()), 1);
  if (!planted) block.sync_warp(whole_warp);
  buffers.out.store(block.lane(), other - shared.load(block.lane() ^ 1));  // <- race_across_a_shuffle
}

void race_unatomic_count(Block& block, const Buffers& buffers, bool planted) {
  const auto bins = block.shared<float>(2);
  if (block.rank() < 2) bins.store(block.rank(), 0);
  block.sync();
  const int bin = buffers.in.load(block.rank()) > 20 ? 1 : 0;
  if (planted) {
    bins.store(bin, bins.load(bin) + 1);  // <- race_unatomic_count
  } else {
    block.atomic_add(bins, bin, 1.0F);
  }
  block.sync();
  if (block.rank() < 2) buffers.out.store(block.rank(), bins.load(block.rank()));
}

// Atomics do not race with each other; a plain read does with them.
void race_with_an_atomic(Block& block, const Buffers& buffers, bool planted) {
  const auto count = block.shared<float>(1);
  if (block.rank() == 0) count.store(0, 0);
  block.sync();
  block.atomic_add(count, 0, 1.0F);  // <- race_with_an_atomic
  if (!planted) block.sync();
  buffers.out.store(block.rank(), planted ? 0 : count.load(0));
  if (planted && block.rank() == 5) buffers.out.store(5, count.load(0));  // <- race_with_an_atomic
}

// Each half of a warp waits for itself, and reads of the other.
void race_of_half_warps(Block& block, const Buffers& buffers, bool planted) {
  const auto shared = block.shared<float>(warp_size);
  const unsigned half = block.lane() < 16 ? 0x0000ffffU : 0xffff0000U;
  shared.store(block.lane(), buffers.in.load(block.lane()));  // <- race_of_half_warps
  block.sync_warp(planted ? half : whole_warp);
  buffers.out.store(block.lane(), shared.load((block.lane() + 16) % warp_size));  // <- race_of_half_warps
}

// Two buffers in turn want one barrier a step; both steps use the first one.
void race_of_double_buffers(Block& block, const Buffers& buffers, bool planted) {
  const auto tile = block.shared<float>(2 * block.size());
  float sum = 0;
  for (int step = 0; step < 4; ++step) {
    const int begin = planted ? 0 : step % 2 * block.size();
    tile.store(begin + block.rank(), buffers.in.load(step));  // <- race_of_double_buffers
    block.sync();
    sum += tile.load(begin + (block.rank() + 7) % block.size());  // <- race_of_double_buffers
  }
  buffers.out.store(block.rank(), sum);
}

// Barriers that not every thread of the block comes to.

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

// Warp operations whose masks or lanes do not agree.

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

constexpr auto race = FindingKind::shared_race;
constexpr auto barrier = FindingKind::divergent_barrier;
constexpr auto divergent = FindingKind::divergent_warp;
constexpr auto mask = FindingKind::warp_mask;
constexpr Planted threads[] = {
    {"race_missing_barrier", __FILE__, race, {1, 64, 256}, 64, 64, race_missing_barrier},
    {"race_reused_partials", __FILE__, race, {1, 64, 8}, 2, 64, race_reused_partials},
    {"race_total_read_early", __FILE__, race, {1, 64, 4}, 1, 64, race_total_read_early},
    {"race_between_warps", __FILE__, race, {1, 64, 256}, 64, 64, race_between_warps},
    {"race_in_lockstep", __FILE__, race, {1, 32, 128}, 32, 1, race_in_lockstep},
    {"race_across_a_shuffle", __FILE__, race, {1, 32, 128}, 32, 32, race_across_a_shuffle},
    {"race_unatomic_count", __FILE__, race, {1, 64, 8}, 64, 2, race_unatomic_count},
    {"race_with_an_atomic", __FILE__, race, {1, 64, 4}, 1, 64, race_with_an_atomic},
    {"race_of_half_warps", __FILE__, race, {1, 32, 128}, 32, 32, race_of_half_warps},
    {"race_of_double_buffers", __FILE__, race, {1, 64, 512}, 4, 64, race_of_double_buffers},
    {"barrier_in_branch", __FILE__, barrier, {1, 64, 256}, 64, 64, barrier_in_branch},
    {"exit_before_barrier", __FILE__, barrier, {2, 64, 256}, 50, 64, exit_before_barrier},
    {"barrier_in_uneven_loop", __FILE__, barrier, {1, 64, 256}, 100, 64, barrier_in_uneven_loop},
    {"barrier_of_the_adders", __FILE__, barrier, {1, 64, 256}, 64, 1, barrier_of_the_adders},
    {"barrier_skipped_by_a_warp", __FILE__, barrier, {1, 96, 4}, 1, 96, barrier_skipped_by_a_warp},
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

std::span<const Planted> planted_threads() { return threads; }

}  // namespace softcheck::emulator_tests
