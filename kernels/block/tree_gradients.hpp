#pragma once

#include <cstdint>

#include "kernels/block/tree_teams.hpp"

// Gradients from the saved results y of a forward pass and the gradient g of a loss by them.
namespace softcheck::kernels {
namespace tree {

/// What the ops have in common; each names what differs.
///
/// of_rows         whether it has one result a row, in the logits' format or, of 16-bit logits, in f32; else one an
/// item has_theta       whether the caller may pass theta != 1 keeps_weights   whether results are the weights of the
/// last sum times a factor; these then stay in registers sums            1 for S = sum w, 2 for T = sum w z too
/// of_labels       whether it is a cross-entropy
/// inputs          2 if the op reads y and g
/// adds_products   whether that op's sum is of y g, not of g
/// number          the softcheck_op of its calls of version 2; 0: version 1
struct Op {
  static constexpr bool of_rows = false, has_theta = true, keeps_weights = false, adds_products = false,
                        of_labels = false;
  static constexpr int sums = 1, inputs = 1, number = 0;
};
struct SoftmaxBackwardKernel : Op {
  static constexpr bool adds_products = true;
  static constexpr int inputs = 2, number = 8;
  /// y0 g0 + y1 g1
  static SOFTCHECK_BODY float pair(float y0, float g0, float y1, float g1) { return paired_products(y0, g0, y1, g1); }
  static SOFTCHECK_BODY float result(float y, float g, float sum) { return y * (g - sum); }
};
struct LogSoftmaxBackwardKernel : Op {
  static constexpr int inputs = 2, number = 9;
  static SOFTCHECK_BODY float pair(float, float g0, float, float g1) { return g0 + g1; }
  /// g - exp(y) sum, NaN if y is; exp(y) is wrong for y > 44, which is no logarithm of a probability.
  static SOFTCHECK_BODY float result(float y, float g, float sum) {
    using C = arithmetic::ExpConstants<float>;
    return fused(-tree_weight(larger(y, C::vanishing)) * C::unscale, sum, g);
  }
};

}  // namespace tree

/// One row by a team: read once, into registers, if held; else twice, as many items at a time as the team holds.
template <class Op, int vectors, bool held, class Team, BlockContext B, class Element>
SOFTCHECK_BODY void saved_row(Team& team, const TreeArguments<B, Element>& arguments, std::int64_t row) {
  using Row = TreeRow<vectors, B, Element>;
  constexpr int items = Row::items;
  const Row from{arguments, row};
  const int own = items * team.block.lane() + vectors * Row::step * team.warp();
  Packet y[vectors], g[vectors];
  const auto load = [&](std::int64_t first) {
    from.load(arguments.logits, 0, first, y);
    from.load(arguments.gradient, 0, first, g);
    team.block.sync_warp(whole_warp);  // as in tree_row
  };
  const auto each_part = [&](auto one) {
    if constexpr (held) {
      one(own);
    } else {
      for (std::int64_t begin = 0; begin < arguments.logits.columns; begin += vectors * Row::step * team.warps()) {
        load(begin + own);
        one(begin + own);
      }
    }
  };
  if constexpr (held) load(own);
  float sum[1];
  add_in_order<vectors, held>(team, each_part, sum, [&](std::int64_t, int k, float(&of)[1]) {
    float a[items], b[items];
    widen<Element>(y[k], a);
    widen<Element>(g[k], b);
    SOFTCHECK_UNROLL
    for (int v = 0; v < items; v += 2) a[v / 2] = Op::pair(a[v], b[v], a[v + 1], b[v + 1]);
    of[0] = added_in_pairs<items / 2>(a);
  });
  renew(y, Op::adds_products && sizeof(Element) == 2 ? arguments.zero : 0);
  renew(g);
  each_part([&](std::int64_t first) {
    from.store(first, [&](int k, float(&x)[items]) {
      float b[items];
      widen<Element>(y[k], x);
      widen<Element>(g[k], b);
      SOFTCHECK_UNROLL
      for (int v = 0; v < items; ++v) x[v] = Op::result(x[v], b[v], sum[0]);
    });
  });
}

}  // namespace softcheck::kernels
