#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/block/cluster.hpp"
#include "kernels/block/grid.hpp"
#include "kernels/block/tree_packets.hpp"

// The threads that hold a row together, and their sums in the order of kernels/block/tree_order.hpp.
namespace softcheck::kernels {

/// A warp that holds a row.
template <BlockContext B>
struct WarpTeam {
  B& block;
  int turn = 0;  // the buffer of the next sums, 0 or 1

  SOFTCHECK_BODY int warp() const { return 0; }
  SOFTCHECK_BODY int warps() const { return 1; }
  template <int count, class Join>
  SOFTCHECK_BODY void join_warps(int, float (&)[count], float, Join) {}
};

/// x[0] to x[count - 1] joined in pairs; count is a power of two.
template <int count, class Join>
SOFTCHECK_BODY float joined_in_pairs(const float* x, Join join) {
  if constexpr (count == 1) {
    return x[0];
  } else {
    return join(joined_in_pairs<count / 2>(x, join), joined_in_pairs<count / 2>(x + count / 2, join));
  }
}

/// get(0) to get(count - 1), of at most most of them, joined in pairs by a warp, in all its lanes; neutral stands
/// behind the last.
template <int most, BlockContext B, class Get, class Join>
SOFTCHECK_BODY float joined_by_warp(B& block, int count, float neutral, Get get, Join join) {
  constexpr int lanes = most < warp_size ? most : warp_size, own = most / lanes;
  float of[own];
  SOFTCHECK_UNROLL
  for (int k = 0; k < own; ++k) {
    const int i = own * (block.lane() % lanes) + k;
    of[k] = i < count ? get(i) : neutral;
  }
  float x = joined_in_pairs<own>(of, join);
  SOFTCHECK_UNROLL
  for (int d = 1; d < lanes; d *= 2) x = join(x, block.shuffle_xor(whole_warp, x, d));
  return x;
}

// Sums that a team joins at once, and the buffers for them: 0 and 1 in turn for sums, 2 for the maximum.
inline constexpr int most_sums = 2, team_buffers = 3;
/// The most warps of a block, blocks of a cluster and of a grid that hold a row together.
inline constexpr int most_team_warps = 16, most_cluster_blocks = 16, most_grid_blocks = 128;

/// All warps of a block, 1 to 16 of them, which together hold a row.
template <BlockContext B>
struct BlockTeam {
  B& block;
  typename B::template Shared<float> partials;
  int turn = 0;

  static constexpr int numbers = team_buffers * most_sums * most_team_warps;
  SOFTCHECK_BODY explicit BlockTeam(B& b) : block(b), partials(b.template shared<float>(numbers)) {}

  SOFTCHECK_BODY int warp() const { return block.warp(); }
  SOFTCHECK_BODY int warps() const { return block.size() / warp_size; }
  /// Joins each x over the warps, in pairs; neutral stands behind the last. There is one barrier, so two calls
  /// in turn must use different ones of the three buffers: else a warp that is ahead overwrites what another has yet to
  /// read.
  template <int count, class Join>
  SOFTCHECK_BODY void join_warps(int buffer, float (&x)[count], float neutral, Join join) {
    const int begin = buffer * most_sums * most_team_warps;
    SOFTCHECK_UNROLL
    for (int i = 0; i < count; ++i) {
      if (block.lane() == 0) partials.store(begin + i * most_team_warps + warp(), x[i]);
    }
    block.sync();
    SOFTCHECK_UNROLL
    for (int i = 0; i < count; ++i) {
      x[i] = joined_by_warp<most_team_warps>(
          block, warps(), neutral, [&](int k) { return partials.load(begin + i * most_team_warps + k); }, join);
    }
  }
};

/// Numbers that the blocks of a cluster pass to each other: each writes its own into the shared memory of all.
template <ClusterContext B>
struct ClusterExchange {
  static constexpr int most = most_cluster_blocks;
  static constexpr int numbers = team_buffers * most_sums * most;
  B& block;
  typename B::template Shared<float> of_blocks;

  SOFTCHECK_BODY explicit ClusterExchange(B& b) : block(b), of_blocks(b.template shared<float>(numbers)) {
    block.sync_cluster();  // the others have begun
  }
  SOFTCHECK_BODY int rank() const { return block.cluster_rank(); }
  SOFTCHECK_BODY int count() const { return block.cluster_size(); }
  SOFTCHECK_BODY void put(int begin, float x) const {
    if (block.rank() < count()) block.of_block(of_blocks, block.rank()).store(begin + rank(), x);
  }
  SOFTCHECK_BODY void meet() { block.sync_cluster(); }
  SOFTCHECK_BODY float get(int i) const { return of_blocks.load(i); }
};

/// Global memory of the teams of a grid: blocks that hold a row together.
///
/// blocks     of a team: a power of two, at most most_grid_blocks
/// counters   apart of each team, 0 before the launch; teams do not wait for each other's lines of the cache
/// partials   numbers of each team
template <BlockContext B>
struct GridMemory {
  static constexpr int apart = 32, numbers = team_buffers * most_sums * most_grid_blocks;
  int blocks;
  typename B::template Global<std::uint32_t> counters;
  typename B::template Global<float> partials;
};

/// Numbers that blocks of a grid pass to each other through global memory.
template <GridContext B>
struct GridExchange {
  static constexpr int most = most_grid_blocks;
  B& block;
  const GridMemory<B>& memory;
  std::uint32_t passed = 0;  // signals of the team's blocks so far

  SOFTCHECK_BODY std::int64_t team() const { return block.index() / count(); }
  SOFTCHECK_BODY int rank() const { return static_cast<int>(block.index() % count()); }
  SOFTCHECK_BODY int count() const { return memory.blocks; }
  SOFTCHECK_BODY void put(int begin, float x) const {
    if (block.rank() == 0) memory.partials.store(team() * memory.numbers + begin + rank(), x);
  }
  SOFTCHECK_BODY void meet() {
    passed += static_cast<std::uint32_t>(count());
    if (block.rank() == 0) {
      block.signal(memory.counters, team() * memory.apart);
      block.wait_for(memory.counters, team() * memory.apart, passed);
    }
    block.sync();
  }
  SOFTCHECK_BODY float get(int i) const { return memory.partials.load(team() * memory.numbers + i); }
};

/// All warps of several blocks, which together hold a row. put(begin, x) leaves a block's number at begin + rank() for
/// all; behind meet() each has those of the others.
template <class B, class Exchange>
struct BlocksTeam {
  B& block;
  BlockTeam<B> own;
  Exchange exchange;
  int turn = 0;

  template <class... Memory>
  SOFTCHECK_BODY explicit BlocksTeam(B& b, const Memory&... memory) : block(b), own(b), exchange{b, memory...} {}

  SOFTCHECK_BODY int warp() const { return exchange.rank() * own.warps() + own.warp(); }
  SOFTCHECK_BODY int warps() const { return exchange.count() * own.warps(); }
  /// As BlockTeam's, over the warps of a block and then over the blocks. Two calls in turn must use different buffers
  /// here, too.
  template <int count, class Join>
  SOFTCHECK_BODY void join_warps(int buffer, float (&x)[count], float neutral, Join join) {
    own.join_warps(buffer, x, neutral, join);
    constexpr int most = Exchange::most;
    const int begin = buffer * most_sums * most;
    SOFTCHECK_UNROLL
    for (int i = 0; i < count; ++i) exchange.put(begin + i * most, x[i]);
    exchange.meet();
    SOFTCHECK_UNROLL
    for (int i = 0; i < count; ++i) {
      x[i] = joined_by_warp<most>(
          block, exchange.count(), neutral, [&](int k) { return exchange.get(begin + i * most + k); }, join);
    }
  }
};

/// The largest x of a team's threads, in all of them. Uses buffer 2.
template <class Team>
SOFTCHECK_BODY float largest_of_team(Team& team, float x) {
  SOFTCHECK_UNROLL
  for (int d = 1; d < warp_size; d *= 2) x = larger(x, team.block.shuffle_xor(whole_warp, x, d));
  float joined[1] = {x};
  team.join_warps(2, joined, minus_infinity<float>(), [](float one, float other) { return larger(one, other); });
  return joined[0];
}

/// The sum over the lanes of a warp, in all of them.
template <BlockContext B>
SOFTCHECK_BODY float added_by_warp(B& block, float x) {
  SOFTCHECK_UNROLL
  for (int d = 1; d < warp_size; d *= 2) x += block.shuffle_xor(whole_warp, x, d);
  return x;
}

/// The memory of PairedSums: level l in lane l.
template <BlockContext B>
struct LanePlaces {
  B* block;
  float own = 0;
  SOFTCHECK_BODY float load(int level) { return block->shuffle(whole_warp, own, level); }
  SOFTCHECK_BODY void store(int level, float x) { own = block->lane() == level ? x : own; }
};

/// totals[i] = the sum over a row of what terms(first, k, of) leaves in of[i]: the sum of packet k of the part that
/// begins at column first, as this thread holds it. each_part(one) calls one(first) for each part of the row: one if
/// held.
template <int vectors, bool held, class Team, class Parts, int sums, class Terms>
SOFTCHECK_BODY void add_in_order(Team& team, const Parts& each_part, float (&totals)[sums], const Terms& terms) {
  constexpr int in_tile = vectors < stripes ? vectors : stripes, tiles = vectors / in_tile;
  PairedSums<LanePlaces<std::remove_reference_t<decltype(team.block)>>> all[sums];
  SOFTCHECK_UNROLL
  for (int i = 0; i < sums; ++i) all[i].places.block = &team.block;
  each_part([&](std::int64_t first) {
    float of_tiles[sums][tiles];
    SOFTCHECK_UNROLL
    for (int t = 0; t < tiles; ++t) {
      float of_vectors[sums][in_tile];
      SOFTCHECK_UNROLL
      for (int j = 0; j < in_tile; ++j) {
        float of[sums];
        terms(first, t * in_tile + j, of);
        SOFTCHECK_UNROLL
        for (int i = 0; i < sums; ++i) of_vectors[i][j] = of[i];
      }
      SOFTCHECK_UNROLL
      for (int i = 0; i < sums; ++i) {
        of_tiles[i][t] = added_by_warp(team.block, added_in_pairs<in_tile>(of_vectors[i]));
      }
    }
    SOFTCHECK_UNROLL
    for (int i = 0; i < sums; ++i) totals[i] = added_in_pairs<tiles>(of_tiles[i]);
    team.join_warps(team.turn, totals, 0, [](float one, float other) { return one + other; });
    team.turn ^= 1;  // not anew for each row: gradients have no other barrier between two rows
    if constexpr (!held) {
      SOFTCHECK_UNROLL
      for (int i = 0; i < sums; ++i) all[i].add(totals[i]);
    }
  });
  if constexpr (!held) {
    SOFTCHECK_UNROLL
    for (int i = 0; i < sums; ++i) totals[i] = all[i].total();
  }
}

}  // namespace softcheck::kernels
