#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include "kernels/arithmetic/adaptive_beta.hpp"
#include "kernels/block/logarithm.hpp"
#include "kernels/block/tree_gradients.hpp"

// Row kernels of f32, f16 and bf16 that hold a row in registers, so that they read and write it once; a row that does
// not fit is read several times. The exact maximum comes first, so nothing is rescaled; sums follow
// kernels/block/tree_order.hpp.
namespace softcheck::kernels {

namespace tree {

struct SoftmaxKernel : Op {
  static constexpr bool keeps_weights = true;
};
struct LogSoftmaxKernel : Op {};
struct LogsumexpKernel : Op {
  static constexpr bool of_rows = true;
};
struct EntropyKernel : Op {
  static constexpr bool of_rows = true;
  static constexpr int sums = 2;
};
struct AdaptiveSoftmaxKernel : Op {
  static constexpr bool has_theta = false, keeps_weights = true;
  static constexpr int sums = 2;
};
struct CrossEntropyKernel : Op {
  static constexpr bool of_rows = true, has_theta = false, of_labels = true;
  static constexpr int number = 10;
};
struct CrossEntropyBackwardKernel : Op {
  static constexpr bool has_theta = false, keeps_weights = true, of_labels = true;
  static constexpr int number = 11;
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
  ///
  /// error    B6 of sum=tree (tree_entropy_theta_b6 of theory/proofs/strict_kernels/tree_entropy.v)
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
  constexpr int items = Row::items;
  const Row from{arguments, row};
  const int own = items * team.block.lane() + vectors * Row::step * team.warp();
  const int at_once = vectors * Row::step * team.warps();
  Packet u[vectors];
  const auto each_part = [&](auto one) {
    if constexpr (held) {
      one(own);
    } else {
      for (std::int64_t begin = 0; begin < arguments.logits.columns; begin += at_once) {
        from.load(arguments.logits, minus_infinity<float>(), begin + own, u);
        one(begin + own);
      }
    }
  };
  if constexpr (held) {
    from.load(arguments.logits, minus_infinity<float>(), own, u);
    team.block.sync_warp(whole_warp);  // else nvcc compiles the rest twice, for each way of loading
  }
  std::int64_t label = 0;
  if constexpr (Op::of_labels) {
    label = arguments.loss.label(row);
    if (label == arguments.loss.attributes.ignored) {
      if constexpr (!Op::of_rows) {
        for (std::int64_t begin = 0; begin < arguments.logits.columns; begin += at_once) {
          from.store(begin + own, [](int, float(&x)[items]) {
            SOFTCHECK_UNROLL
            for (int v = 0; v < items; ++v) x[v] = 0;
          });
        }
      } else if (own == 0) {
        arguments.store(row, 0);
      }
      return;
    }
    if (label >= arguments.logits.columns) label = -1;
  }
  float m = minus_infinity<float>();
  each_part([&](std::int64_t) { m = larger(m, largest<Element>(u)); });
  m = tree_maximum(largest_of_team(team, m));
  team.turn = 0;  // the maximum's barrier stands between the sums of two rows

  float weights[vectors][items];
  // totals = the sum of the weights at that scale and, if sums is 2, that of the weights times their arguments.
  const auto add_weights = [&]<int sums>(float scale, float(&totals)[sums]) {
    add_in_order<vectors, held>(team, each_part, totals, [&](std::int64_t, int k, float(&of)[sums]) {
      float(&w)[items] = weights[k];
      float z[items];
      widen<Element>(u[k], z);
      SOFTCHECK_UNROLL
      for (int v = 0; v < items; ++v) {
        z[v] = with_weight((z[v] - m) * scale);
        w[v] = tree_weight(z[v]);
      }
      of[0] = added_in_pairs<items>(w);
      if constexpr (sums == 2) {
        SOFTCHECK_UNROLL
        for (int v = 0; v < items; v += 2) z[v / 2] = paired_products(w[v], z[v], w[v + 1], z[v + 1]);
        of[1] = added_in_pairs<items / 2>(z);
      }
    });
  };

  float sums[Op::sums];
  add_weights(Op::of_labels ? 1.0F : arguments.scale, sums);
  TreeStatistics all = {m, sums[0], sums[Op::sums - 1]};
  if constexpr (Op::of_rows && Op::of_labels) {
    const LossAttributes& attributes = arguments.loss.attributes;
    float distances[1] = {0};
    if (attributes.smoothing != 0) {
      renew(u);
      add_in_order<vectors, held>(team, each_part, distances, [&](std::int64_t first, int k, float(&of)[1]) {
        float x[items];
        widen<Element>(u[k], x);
        SOFTCHECK_UNROLL
        for (int v = 0; v < items; ++v) x[v] = k * Row::step + v < from.left(first) ? m - x[v] : 0;
        of[0] = added_in_pairs<items>(x);
      });
    }
    if (team.warp() == 0) {
      const double loss = opaque(attributes.loss(all.logarithm(), m, from.logit(label), distances[0]));
      if (own == 0) arguments.store(row, loss);
    }
  } else if constexpr (Op::of_rows) {
    const double result = Op::sums == 1 ? all.logsumexp(arguments.theta, arguments.inverse) : all.entropy();
    if (team.block.lane() == 0 && team.warp() == 0) arguments.store(row, result);
  } else if constexpr (Op::keeps_weights) {
    float scale = Op::of_labels ? 1.0F : arguments.scale;
    if constexpr (Op::sums == 2) {
      scale = static_cast<float>(arithmetic::adaptive_beta(all.entropy()));
      renew(u);
      float sum[1];
      add_weights(scale, sum);
      all.sum = sum[0];
    }
    const float factor = all.factor();
    LossSlopes slopes{};
    if constexpr (Op::of_labels) {
      slopes = arguments.loss.attributes.slopes(label < 0 ? not_a_number<float>() : arguments.upstream(row),
                                                [&] { return static_cast<double>(m) + all.logarithm(); });
    }
    each_part([&](std::int64_t first) {
      const bool has_label = Op::of_labels && from.holds(first, label);
      const float target = has_label ? from.logit(label) : 0;  // before it may be overwritten
      from.store(first, [&](int k, float(&x)[items]) {
        if constexpr (!held) widen<Element>(u[k], x);
        SOFTCHECK_UNROLL
        for (int v = 0; v < items; ++v) {
          x[v] = (held ? weights[k][v] : tree_weight(with_weight((x[v] - m) * scale))) * factor;
          if constexpr (Op::of_labels) x[v] = slopes.others(x[v]);
        }
      });
      if (has_label) from.put(label, slopes.label(tree_weight(with_weight(target - m)) * factor));
    });
  } else {
    const auto shift = static_cast<float>(all.logarithm());
    renew(u);
    each_part([&](std::int64_t first) {
      from.store(first, [&](int k, float(&x)[items]) {
        widen<Element>(u[k], x);
        SOFTCHECK_UNROLL
        for (int v = 0; v < items; ++v) x[v] = (x[v] - m) * arguments.scale - shift;
      });
    });
  }
}

/// tree_row() or saved_row(), by the op.
template <class Op, int vectors, bool held, class Team, BlockContext B, class Element>
SOFTCHECK_BODY void row_of(Team& team, const TreeArguments<B, Element>& arguments, std::int64_t row) {
  if constexpr (Op::inputs == 2) {
    saved_row<Op, vectors, held>(team, arguments, row);
  } else {
    tree_row<Op, vectors, held>(team, arguments, row);
  }
}

/// The vectors of an input that a thread holds in registers, of 64.
template <class Op, class Element>
inline constexpr int most_vectors = Op::inputs == 2 ? stripes : 32 / vector_items<Element>;

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
      row_of<Op, vectors, true>(team, arguments, opaque(row));
    }
  }
};

/// The rows of a team among so many of them.
template <class Op, int vectors, bool held, class Team, BlockContext B, class Element>
SOFTCHECK_BODY void rows_of(Team& team, const TreeArguments<B, Element>& arguments, std::int64_t first,
                            std::int64_t teams) {
  for (std::int64_t row = first; row < arguments.logits.rows; row += teams) {
    row_of<Op, vectors, held>(team, arguments, opaque(row));
  }
}

/// A block a row: held in its registers, or read part by part. A warp holds whole tiles.
template <int vectors, bool held>
struct BlockRows {
  static_assert(vectors % stripes == 0);
  static constexpr std::size_t shared_bytes = team_buffers * most_sums * most_team_warps * sizeof(float);
  static constexpr int rows_at_once(int) { return 1; }
  template <class Op, BlockContext B, class Element>
  static SOFTCHECK_BODY void run(B& block, const TreeArguments<B, Element>& arguments) {
    BlockTeam<B> team(block);
    rows_of<Op, vectors, held>(team, arguments, block.index(), block.count());
  }
};

/// A cluster a row, held in the registers of its blocks.
template <int vectors>
struct ClusterRows {
  static constexpr int rows_at_once(int) { return 1; }
  static constexpr std::size_t shared_bytes =
      BlockRows<vectors, true>::shared_bytes + team_buffers * most_sums * most_cluster_blocks * sizeof(float);
  template <class Op, ClusterContext B, class Element>
  static SOFTCHECK_BODY void run(B& block, const TreeArguments<B, Element>& arguments) {
    BlocksTeam<B, ClusterExchange<B>> team(block);
    rows_of<Op, vectors, true>(team, arguments, block.index() / block.cluster_size(),
                               block.count() / block.cluster_size());
  }
};

/// Some blocks of a cooperative launch a row, as BlockRows.
template <int vectors, bool held>
struct GridRows {
  static constexpr std::size_t shared_bytes = BlockRows<vectors, held>::shared_bytes;
  template <class Op, GridContext B, class Element>
  static SOFTCHECK_BODY void run(B& block, const TreeArguments<B, Element>& arguments, const GridMemory<B>& memory) {
    BlocksTeam<B, GridExchange<B>> team(block, memory);
    rows_of<Op, vectors, held>(team, arguments, team.exchange.team(), block.count() / memory.blocks);
  }
};
template <class Rows>
inline constexpr bool of_grid = false;
template <int vectors, bool held>
inline constexpr bool of_grid<GridRows<vectors, held>> = true;

/// Returns take(Rows, warps of a block) for the layout in which a thread holds at most 32 items, in f32 of both inputs.
/// The choice changes no bit.
template <class Op, class Element, class Take>
int with_layout(std::int64_t columns, const Take& take) {
  constexpr int items = vector_items<Element>, most = most_vectors<Op, Element>;
  constexpr std::int64_t of_warp = most * items * warp_size;
  if (columns <= items * warp_size) return take(WarpRows<1>(), 4);
  if (columns <= of_warp / 2) return take(WarpRows<most / 2>(), 4);
  if (columns <= of_warp) return take(WarpRows<most>(), 4);
  int warps = 2;
  while (warps < most_team_warps && warps * of_warp < columns) warps *= 2;
  if (columns <= warps * of_warp) return take(BlockRows<most, true>(), warps);
  return take(BlockRows<most, false>(), warps);
}

}  // namespace softcheck::kernels
