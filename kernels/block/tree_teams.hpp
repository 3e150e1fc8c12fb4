#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/block/cluster.hpp"
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

/// The most warps of a BlockTeam.
inline constexpr int most_team_warps = 16;

/// All warps of a block, 1 to 16 of them, which together hold a row.
template <BlockContext B>
struct BlockTeam {
  B& block;
  typename B::template Shared<float> partials;
  int turn = 0;

  static constexpr int most_sums = 2, numbers = 3 * most_sums * most_team_warps;
  SOFTCHECK_BODY explicit BlockTeam(B& b) : block(b), partials(b.template shared<float>(numbers)) {}

  SOFTCHECK_BODY int warp() const { return block.warp(); }
  SOFTCHECK_BODY int warps() const { return block.size() / warp_size; }
  /// Joins each x over the warps, in pairs; neutral stands behind the last. There is one barrier, so two calls
  /// in turn must use different ones of the three buffers: else a warp that is ahead overwrites what another has yet to
  /// read.
  template <int count, class Join>
  SOFTCHECK_BODY void join_warps(int buffer, float (&x)[count], float neutral, Join join) {
    const int begin = buffer * most_sums * most_team_warps, from = block.lane() % most_team_warps;
    SOFTCHECK_UNROLL
    for (int i = 0; i < count; ++i) {
      if (block.lane() == 0) partials.store(begin + i * most_team_warps + warp(), x[i]);
    }
    block.sync();
    SOFTCHECK_UNROLL
    for (int i = 0; i < count; ++i) {
      x[i] = from < warps() ? partials.load(begin + i * most_team_warps + from) : neutral;
      SOFTCHECK_UNROLL
      for (int d = 1; d < most_team_warps; d *= 2) x[i] = join(x[i], block.shuffle_xor(whole_warp, x[i], d));
    }
  }
};

/// The most blocks of a ClusterTeam.
inline constexpr int most_team_blocks = 16;

/// All warps of the blocks of a cluster, 1 to 16 of them, which together hold a row.
template <ClusterContext B>
struct ClusterTeam {
  B& block;
  BlockTeam<B> own;
  typename B::template Shared<float> of_blocks;
  int turn = 0;

  static constexpr int numbers = 3 * BlockTeam<B>::most_sums * most_team_blocks;
  SOFTCHECK_BODY explicit ClusterTeam(B& b) : block(b), own(b), of_blocks(b.template shared<float>(numbers)) {
    block.sync_cluster();  // the others have begun
  }

  SOFTCHECK_BODY int warp() const { return block.cluster_rank() * own.warps() + own.warp(); }
  SOFTCHECK_BODY int warps() const { return block.cluster_size() * own.warps(); }
  /// As BlockTeam's, over the warps of a block and then over the blocks, each of which writes its x to all.
  template <int count, class Join>
  SOFTCHECK_BODY void join_warps(int buffer, float (&x)[count], float neutral, Join join) {
    own.join_warps(buffer, x, neutral, join);
    const int begin = buffer * BlockTeam<B>::most_sums * most_team_blocks, from = block.lane() % most_team_blocks;
    SOFTCHECK_UNROLL
    for (int i = 0; i < count; ++i) {
      if (block.rank() < block.cluster_size()) {
        block.of_block(of_blocks, block.rank()).store(begin + i * most_team_blocks + block.cluster_rank(), x[i]);
      }
    }
    block.sync_cluster();
    SOFTCHECK_UNROLL
    for (int i = 0; i < count; ++i) {
      x[i] = from < block.cluster_size() ? of_blocks.load(begin + i * most_team_blocks + from) : neutral;
      SOFTCHECK_UNROLL
      for (int d = 1; d < most_team_blocks; d *= 2) x[i] = join(x[i], block.shuffle_xor(whole_warp, x[i], d));
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
