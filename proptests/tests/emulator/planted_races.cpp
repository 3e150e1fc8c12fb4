// Shared memory that two threads use with no barrier between.
#include "proptests/tests/emulator/planted.hpp"

namespace softcheck::emulator_tests {
namespace {

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

constexpr auto kind = FindingKind::shared_race;
constexpr Planted all[] = {
    {"race_missing_barrier", __FILE__, kind, {1, 64, 256}, 64, 64, race_missing_barrier},
    {"race_reused_partials", __FILE__, kind, {1, 64, 8}, 2, 64, race_reused_partials},
    {"race_total_read_early", __FILE__, kind, {1, 64, 4}, 1, 64, race_total_read_early},
    {"race_between_warps", __FILE__, kind, {1, 64, 256}, 64, 64, race_between_warps},
    {"race_in_lockstep", __FILE__, kind, {1, 32, 128}, 32, 1, race_in_lockstep},
    {"race_across_a_shuffle", __FILE__, kind, {1, 32, 128}, 32, 32, race_across_a_shuffle},
    {"race_unatomic_count", __FILE__, kind, {1, 64, 8}, 64, 2, race_unatomic_count},
    {"race_with_an_atomic", __FILE__, kind, {1, 64, 4}, 1, 64, race_with_an_atomic},
    {"race_of_half_warps", __FILE__, kind, {1, 32, 128}, 32, 32, race_of_half_warps},
    {"race_of_double_buffers", __FILE__, kind, {1, 64, 512}, 4, 64, race_of_double_buffers},
};

}  // namespace

std::span<const Planted> planted_races() { return all; }

}  // namespace softcheck::emulator_tests
