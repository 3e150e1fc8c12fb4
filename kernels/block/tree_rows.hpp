#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include "kernels/arithmetic/adaptive_beta.hpp"
#include "kernels/block/logarithm.hpp"
#include "kernels/block/tree_packets.hpp"

// Row kernels that hold a row in registers, so that they read and write it once; a row that does not fit is read
// several times. The exact maximum comes first, so nothing is rescaled; sums follow kernels/block/tree_order.hpp.
namespace softcheck::kernels {

/// A warp that holds a row.
template <BlockContext B>
struct WarpTeam {
  B& block;

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

namespace tree {

// The ops. sums: 1 for S = sum w, 2 for T = sum w z too; keeps_weights: whether results are the weights of the last
// sum times a factor; these weights then stay in registers. of_rows, has_theta: as in kernels/block/row_kernels.hpp.
struct SoftmaxKernel {
  static constexpr bool of_rows = false, has_theta = true, keeps_weights = true;
  static constexpr int sums = 1;
};
struct LogSoftmaxKernel {
  static constexpr bool of_rows = false, has_theta = true, keeps_weights = false;
  static constexpr int sums = 1;
};
struct LogsumexpKernel {
  static constexpr bool of_rows = true, has_theta = true, keeps_weights = false;
  static constexpr int sums = 1;
};
struct EntropyKernel {
  static constexpr bool of_rows = true, has_theta = true, keeps_weights = false;
  static constexpr int sums = 2;
};
struct AdaptiveSoftmaxKernel {
  static constexpr bool of_rows = false, has_theta = false, keeps_weights = true;
  static constexpr int sums = 2;
};

}  // namespace tree

/// The maximum of a row: NaN if an item is NaN or +inf, and +0 if it is 0.
SOFTCHECK_BODY float tree_maximum(float largest) {
  return largest < std::numeric_limits<float>::infinity() ? largest + 0.0F : not_a_number<float>();
}

/// x / y from an approximation of 1 / y, by steps of Newton's, each of which squares its error. nvcc's own division may
/// call a function, for which registers spill.
///
/// error    1/2 ulp and the square of the last step's error
template <int steps>
SOFTCHECK_BODY double quotient_of(double x, double y, double inverse) {
  SOFTCHECK_UNROLL
  for (int i = 0; i < steps; ++i) inverse = fused(fused(-y, inverse, 1.0), inverse, inverse);
  const double q = x * inverse;
  return fused(fused(-y, q, x), inverse, q);
}

/// What the kernels make of a row's maximum m, 2^64 S and 2^64 T.
struct TreeStatistics {
  float maximum, sum, products;

  /// Whether the row has a softmax: no NaN, no +inf, and an item that is not hidden.
  SOFTCHECK_BODY bool defined() const { return maximum > minus_infinity<float>(); }
  /// The factor of a weight: 1 / (2^64 S).
  SOFTCHECK_BODY float factor() const { return defined() ? 1.0F / sum : not_a_number<float>(); }
  /// ln S in double, with S = 1 if the sum is less. As S is a float, some operations of logarithm_of_one_plus(S - 1)
  /// are exact. They are left out, which changes neither bits nor error.
  SOFTCHECK_BODY double logarithm() const {
    constexpr double ln2 = 0x1.62e42fefa39efp-1;
    constexpr std::uint64_t half_root = 0x3fe6a09e667f3bcdULL;  // sqrt(1/2)
    const float s = sum * arithmetic::ExpConstants<float>::unscale;
    const std::uint64_t bits = std::bit_cast<std::uint64_t>(static_cast<double>(s >= 1 ? s : 1));
    const std::int64_t k = static_cast<std::int64_t>(bits - half_root) >> 52;
    const double m = std::bit_cast<double>(bits - (static_cast<std::uint64_t>(k) << 52));
    // The line nearest to 1 / (m + 1) on [1.707, 2.415], within 0.015: after three steps 2.4e-15.
    const double z = quotient_of<3>(m - 1, m + 1, fused(-0.239016, m + 1, 0.985062)), t = z * z;
    return fused(static_cast<double>(k), ln2, fused(2 * z * t, atanh_series<1>(t), 2 * z));
  }
  /// ln S - T / S; NaN of a row without a softmax.
  SOFTCHECK_BODY double entropy() const {
    // 1 / sum within an eighth by its bits, and then within 2.5e-4; after two steps 4e-15.
    float near = std::bit_cast<float>(0x7ef311c3U - std::bit_cast<std::uint32_t>(sum));
    near = fused(fused(-near, sum, 1.0F), near, near);
    near = fused(fused(-near, sum, 1.0F), near, near);
    const double ratio = quotient_of<2>(static_cast<double>(products), static_cast<double>(sum), near);
    return logarithm() - ratio + static_cast<double>(maximum - maximum);
  }
  /// m / theta + ln S, -inf of an empty row. The remainder of the quotient is added, because ln S may cancel it.
  SOFTCHECK_BODY double logsumexp(double theta, double inverse) const {
    const double m = static_cast<double>(maximum), quotient = m * inverse;
    const double all = quotient + fused(fused(-quotient, theta, m), inverse, logarithm());
    return quotient - quotient == 0 ? all : quotient;
  }
};

/// One row by a team. The row is read once, into registers, if held; else as often as the op needs it, as many items
/// at a time as the team holds.
template <class Op, int vectors, bool held, class Team, BlockContext B, class Element>
SOFTCHECK_BODY void tree_row(Team& team, const TreeArguments<B, Element>& arguments, std::int64_t row) {
  using Row = TreeRow<vectors, B, Element>;
  constexpr int items = Row::items, in_tile = vectors < stripes ? vectors : stripes, tiles = vectors / in_tile;
  const Row from{arguments, row};
  const int own = items * team.block.lane() + vectors * Row::step * team.warp();
  const int at_once = vectors * Row::step * team.warps();
  Packet u[vectors];
  const auto each_part = [&](auto one) {
    if constexpr (held) {
      one(own);
    } else {
      for (std::int64_t begin = 0; begin < arguments.logits.columns; begin += at_once) {
        from.load(begin + own, u);
        one(begin + own);
      }
    }
  };
  if constexpr (held) {
    from.load(own, u);
    team.block.sync_warp(whole_warp);  // else nvcc compiles the rest twice, for each way of loading
  }
  float m = minus_infinity<float>();
  each_part([&](std::int64_t) { m = larger(m, largest<Element>(u)); });
  m = tree_maximum(largest_of_team(team, m));

  // Without this nvcc keeps the widened packets in registers until their next use, and spills others.
  const auto renew = [&] {
    SOFTCHECK_UNROLL
    for (int i = 0; i < 4 * vectors; ++i) u[i / 4].word[i % 4] = opaque(u[i / 4].word[i % 4]);
  };
  int turn = 0;  // the buffer of the next sums
  float weights[vectors][items];
  // totals = the sum of the weights at that scale and, if sums is 2, that of the weights times their arguments.
  const auto add_weights = [&]<int sums>(float scale, float(&totals)[sums]) {
    PairedSums<LanePlaces<B>> all[sums];
    SOFTCHECK_UNROLL
    for (int i = 0; i < sums; ++i) all[i].places.block = &team.block;
    each_part([&](std::int64_t) {
      float of_tiles[sums][tiles];
      SOFTCHECK_UNROLL
      for (int t = 0; t < tiles; ++t) {
        float of_vectors[sums][in_tile];
        SOFTCHECK_UNROLL
        for (int j = 0; j < in_tile; ++j) {
          float(&w)[items] = weights[t * in_tile + j];
          float z[items];
          widen<Element>(u[t * in_tile + j], z);
          SOFTCHECK_UNROLL
          for (int v = 0; v < items; ++v) {
            z[v] = with_weight((z[v] - m) * scale);
            w[v] = tree_weight(z[v]);
          }
          of_vectors[0][j] = added_in_pairs<items>(w);
          if constexpr (sums == 2) {
            SOFTCHECK_UNROLL
            for (int v = 0; v < items; v += 2) z[v / 2] = paired_products(w[v], z[v], w[v + 1], z[v + 1]);
            of_vectors[1][j] = added_in_pairs<items / 2>(z);
          }
        }
        SOFTCHECK_UNROLL
        for (int i = 0; i < sums; ++i) {
          of_tiles[i][t] = added_by_warp(team.block, added_in_pairs<in_tile>(of_vectors[i]));
        }
      }
      SOFTCHECK_UNROLL
      for (int i = 0; i < sums; ++i) totals[i] = added_in_pairs<tiles>(of_tiles[i]);
      team.join_warps(turn, totals, 0, [](float one, float other) { return one + other; });
      turn ^= 1;
      if constexpr (!held) {
        SOFTCHECK_UNROLL
        for (int i = 0; i < sums; ++i) all[i].add(totals[i]);
      }
    });
    if constexpr (!held) {
      SOFTCHECK_UNROLL
      for (int i = 0; i < sums; ++i) totals[i] = all[i].total();
    }
  };

  float sums[Op::sums];
  add_weights(arguments.scale, sums);
  TreeStatistics all = {m, sums[0], sums[Op::sums - 1]};
  if constexpr (Op::of_rows) {
    const double result = Op::sums == 1 ? all.logsumexp(arguments.theta, arguments.inverse) : all.entropy();
    if (team.block.lane() == 0 && team.warp() == 0) arguments.store(row, result);
  } else if constexpr (Op::keeps_weights) {
    float scale = arguments.scale;
    if constexpr (!Op::has_theta) {
      scale = static_cast<float>(arithmetic::adaptive_beta(all.entropy()));
      renew();
      float sum[1];
      add_weights(scale, sum);
      all.sum = sum[0];
    }
    const float factor = all.factor();
    each_part([&](std::int64_t first) {
      from.store(first, [&](int k, float(&x)[items]) {
        if constexpr (!held) widen<Element>(u[k], x);
        SOFTCHECK_UNROLL
        for (int v = 0; v < items; ++v) {
          x[v] = (held ? weights[k][v] : tree_weight(with_weight((x[v] - m) * scale))) * factor;
        }
      });
    });
  } else {
    const auto shift = static_cast<float>(all.logarithm());
    renew();
    each_part([&](std::int64_t first) {
      from.store(first, [&](int k, float(&x)[items]) {
        widen<Element>(u[k], x);
        SOFTCHECK_UNROLL
        for (int v = 0; v < items; ++v) x[v] = (x[v] - m) * arguments.scale - shift;
      });
    });
  }
}

// How rows are laid on threads. Rows::run<Op>(block, arguments) is the body of a kernel. Every warp of a block calls
// it; rows_at_once(warps of a block) is the number of rows that a block takes at once, shared_bytes its shared memory.

/// A warp a row, of at most 32 V vectors columns.
template <int vectors>
struct WarpRows {
  static constexpr std::size_t shared_bytes = 0;
  static constexpr int rows_at_once(int warps) { return warps; }
  template <class Op, BlockContext B, class Element>
  static SOFTCHECK_BODY void run(B& block, const TreeArguments<B, Element>& arguments) {
    WarpTeam<B> team{block};
    const int warps = block.size() / warp_size;
    for (std::int64_t row = block.index() * warps + block.warp(); row < arguments.logits.rows;
         row += block.count() * warps) {
      tree_row<Op, vectors, true>(team, arguments, opaque(row));
    }
  }
};

/// A block a row: held in its registers, or read part by part. A warp holds whole tiles.
template <int vectors, bool held>
struct BlockRows {
  static_assert(vectors % stripes == 0);
  static constexpr std::size_t shared_bytes = 3 * 2 * most_team_warps * sizeof(float);
  static constexpr int rows_at_once(int) { return 1; }
  template <class Op, BlockContext B, class Element>
  static SOFTCHECK_BODY void run(B& block, const TreeArguments<B, Element>& arguments) {
    BlockTeam<B> team(block);
    for (std::int64_t row = block.index(); row < arguments.logits.rows; row += block.count()) {
      tree_row<Op, vectors, held>(team, arguments, opaque(row));
    }
  }
};

/// Returns take(Rows, warps of a block) for the layout in which a thread holds at most 32 items. The choice changes no
/// bit.
template <class Element, class Take>
int with_layout(std::int64_t columns, const Take& take) {
  constexpr int items = vector_items<Element>, most = 32 / items;
  constexpr std::int64_t of_warp = 32 * warp_size;
  if (columns <= items * warp_size) return take(WarpRows<1>(), 4);
  if (columns <= of_warp / 2) return take(WarpRows<most / 2>(), 4);
  if (columns <= of_warp) return take(WarpRows<most>(), 4);
  int warps = 2;
  while (warps < most_team_warps && warps * of_warp < columns) warps *= 2;
  if (columns <= warps * of_warp) return take(BlockRows<most, true>(), warps);
  return take(BlockRows<most, false>(), warps);
}

}  // namespace softcheck::kernels
