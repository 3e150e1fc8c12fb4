#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "kernels/arithmetic/exp_constants.hpp"
#include "kernels/cpu/tiles/tile_lane.hpp"

namespace softcheck::kernels::cpu {

/// The passes between the products, on a machine's vectors of 16 numbers. Each source has its own Machine type, so that
/// its instruction set does not get into functions that other sources share.
template <class Machine>
struct TilePasses {
  using V = typename Machine::Vector;
  using C = arithmetic::ExpConstants<float>;

  static constexpr std::size_t chains = 4;  // of sums: key j of a block is added to chain j mod 4
  static constexpr float lowest = -std::numeric_limits<float>::infinity();
  // Adding it rounds to an integer k and leaves the biased exponent of 2^k in the low bits.
  static constexpr float rounder = 0x1.8p+23f + 127;
  // k = -127, whose 2^k comes out as 0: weights below 2^-126 are flushed, and those of masked keys are 0.
  static constexpr float vanishing = -88.03f;

  /// w = exp(z) for z <= 0, or NaN: ExpConstants' reduction and polynomial.
  template <std::size_t n>
  static void exps(const V (&z)[n], V (&w)[n]) {
    V rounded[n];
    V r[n];
    V q[n];
    for (std::size_t v = 0; v < n; ++v) {
      rounded[v] = Machine::fma(z[v], Machine::set(C::log2_e), Machine::set(rounder));
    }
    for (std::size_t v = 0; v < n; ++v) {
      const V k = Machine::sub(rounded[v], Machine::set(rounder));
      r[v] = Machine::fnma(k, Machine::set(C::ln2_high), z[v]);
      r[v] = Machine::fnma(k, Machine::set(C::ln2_low), r[v]);
      q[v] = Machine::set(C::q[C::degree]);
    }
    for (int i = C::degree - 1; i >= 0; --i) {
      for (std::size_t v = 0; v < n; ++v) {
        q[v] = Machine::fma(q[v], r[v], Machine::set(C::q[i]));
      }
    }
    for (std::size_t v = 0; v < n; ++v) {
      const V rest = Machine::fma(Machine::mul(r[v], r[v]), q[v], r[v]);
      w[v] = Machine::mul(Machine::add(Machine::set(1.0f), rest), Machine::exponent_of(rounded[v]));
    }
  }

  /// What a state's sums are multiplied with, for maxima that have become m; z = old m - m, bounded.
  struct Raised {
    V z, factor;
  };
  static Raised raised(const V& old, const V& m) {
    const V z[1] = {Machine::max_or_nan(Machine::set(vanishing), Machine::sub(old, reference(m)))};
    V factor[1];
    exps(z, factor);
    return {z[0], factor[0]};
  }
  /// m, or 0 if no key is seen: every score is -inf there, and so is score - 0.
  static V reference(const V& m) { return Machine::zero_where_equal(m, Machine::set(lowest)); }
  /// T relative to the raised maximum: factor (T - z S).
  static V raised_deviations(const Raised& by, const V& deviations, const V& sum) {
    return Machine::mul(by.factor, Machine::fnma(by.z, sum, deviations));
  }

  /// Scales and masks a group's scores in place; the largest of them and of m.
  template <bool masked>
  static V scale_scores(float* scores, std::size_t width, float scale_factor, const std::uint16_t* visible,
                        const V& m) {
    const V scale = Machine::set(scale_factor), none = Machine::set(lowest);
    V best[chains] = {m, none, none, none};
    for (std::size_t j = 0; j < width; j += chains) {
      for (std::size_t v = 0; v < chains; ++v) {
        float* at = scores + (j + v) * tile_lanes;
        V x = Machine::mul(scale, Machine::load(at));
        if constexpr (masked) {
          x = Machine::keep(visible[j + v], x, none);
        }
        Machine::store(at, x);
        best[v] = Machine::max(x, best[v]);  // the second one where x is NaN
      }
    }
    return Machine::max(Machine::max(best[0], best[1]), Machine::max(best[2], best[3]));
  }

  /// The weights relative to m, their sums added to the state.
  static void weigh(const float* scores, std::size_t width, const V& m, std::uint32_t* weights, float* sum,
                    float* deviations) {
    const V base = reference(m), zero = Machine::set(0.0f);
    V sums[chains] = {zero, zero, zero, zero};
    V rest[chains] = {zero, zero, zero, zero};
    for (std::size_t j = 0; j < width; j += chains) {
      V z[chains];
      V w[chains];
      for (std::size_t v = 0; v < chains; ++v) {
        const V x = Machine::load(scores + (j + v) * tile_lanes);
        z[v] = Machine::max_or_nan(Machine::set(vanishing), Machine::sub(x, base));
      }
      exps(z, w);
      for (std::size_t v = 0; v < chains; ++v) {
        sums[v] = Machine::add(sums[v], w[v]);
        rest[v] = Machine::fnma(w[v], z[v], rest[v]);
      }
      for (std::size_t v = 0; v < chains; v += 2) {
        Machine::store_bf16_pairs(weights + (j + v) / 2 * tile_lanes, w[v], w[v + 1]);
      }
    }
    const V all = Machine::add(Machine::add(sums[0], sums[1]), Machine::add(sums[2], sums[3]));
    const V all_rest = Machine::add(Machine::add(rest[0], rest[1]), Machine::add(rest[2], rest[3]));
    Machine::store(sum, Machine::add(Machine::load(sum), all));
    Machine::store(deviations, Machine::add(Machine::load(deviations), all_rest));
  }

  static void weigh_group(const UnitBlock& block, std::size_t group) {
    float* scores = block.scores + group * tile_keys * tile_lanes;
    float* maximum = block.state.maximum + group * tile_lanes;
    float* sum = block.state.sum + group * tile_lanes;
    float* deviations = block.state.deviations + group * tile_lanes;
    const V old = Machine::load(maximum);
    const V m = block.visible == nullptr
                    ? scale_scores<false>(scores, block.width, block.scale, nullptr, old)
                    : scale_scores<true>(scores, block.width, block.scale, block.visible + group * tile_keys, old);
    if (Machine::differ(m, old)) {
      const Raised by = raised(old, m);
      const V s = Machine::load(sum);
      Machine::store(maximum, m);
      Machine::store(sum, Machine::mul(by.factor, s));
      Machine::store(deviations, raised_deviations(by, Machine::load(deviations), s));
      float* values = block.state.values_of(group);
      for (std::size_t c = 0; c < block.state.width; ++c, values += tile_lanes) {
        Machine::store(values, Machine::mul(by.factor, Machine::load(values)));
      }
    }
    weigh(scores, block.width, m, block.weights + group * (tile_keys / 2) * tile_lanes, sum, deviations);
  }

  static void attend(const UnitBlock& block) {
    Machine::multiply_scores(block);
    for (std::size_t group = 0; group < unit_groups; ++group) {
      weigh_group(block, group);
    }
    Machine::multiply_values(block);
  }

  static void merge(const UnitState& left, const UnitState& right) {
    for (std::size_t group = 0; group < unit_groups; ++group) {
      const std::size_t at = group * tile_lanes;
      const V ours = Machine::load(left.maximum + at), theirs = Machine::load(right.maximum + at);
      const V m = Machine::max(ours, theirs);
      const Raised a = raised(ours, m), b = raised(theirs, m);
      const V s = Machine::load(left.sum + at), t = Machine::load(right.sum + at);
      Machine::store(left.maximum + at, m);
      Machine::store(left.sum + at, Machine::add(Machine::mul(a.factor, s), Machine::mul(b.factor, t)));
      Machine::store(left.deviations + at, Machine::add(raised_deviations(a, Machine::load(left.deviations + at), s),
                                                        raised_deviations(b, Machine::load(right.deviations + at), t)));
      float* to = left.values_of(group);
      const float* from = right.values_of(group);
      for (std::size_t c = 0; c < left.width; ++c, to += tile_lanes, from += tile_lanes) {
        Machine::store(to, Machine::fma(b.factor, Machine::load(from), Machine::mul(a.factor, Machine::load(to))));
      }
    }
  }
};

}  // namespace softcheck::kernels::cpu
