#include "kernels/strict/tree_passes.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/strict/tree_passes.cpp"
#include <hwy/foreach_target.h>
// foreach_target comes first: it includes this file once per instruction set.
#include <hwy/highway.h>

#include "kernels/block/tree_order.hpp"
#include "kernels/strict/strict_lanes.inl"

HWY_BEFORE_NAMESPACE();
namespace softcheck::kernels::strict {
namespace HWY_NAMESPACE {

using TreeLanes = Lanes<float>;

HWY_ATTR float tree_largest(const float* x, std::size_t count, float so_far) {
  const Tag<float> d;
  TreeLanes largest = hn::Set(d, so_far);
  auto undefined = hn::IsNaN(largest);
  for (std::size_t i = 0; i < count; i += lanes<float>) {
    const TreeLanes item = hn::LoadU(d, x + i);
    undefined = hn::Or(undefined, hn::IsNaN(item));
    largest = hn::IfThenElse(hn::Gt(item, largest), item, largest);
  }
  return hn::AllFalse(d, undefined) ? hn::GetLane(hn::MaxOfLanes(d, largest)) : not_a_number<float>();
}

HWY_ATTR void tree_weights(const float* x, std::size_t count, float maximum, float scale, float* z, float* w) {
  using C = ExpConstants<float>;
  const Tag<float> d;
  const hn::RebindToUnsigned<Tag<float>> bits;
  const TreeLanes m = hn::Set(d, maximum), c = hn::Set(d, scale), vanishing = hn::Set(d, C::vanishing);
  const TreeLanes rounder = hn::Set(d, C::rounder);
  for (std::size_t i = 0; i < count; i += lanes<float>) {
    const TreeLanes any = hn::Mul(hn::Sub(hn::LoadU(d, x + i), m), c);
    const TreeLanes argument = hn::IfThenElse(hn::Gt(any, vanishing), any, vanishing);
    const TreeLanes rounded = fused_lanes<float>(argument, hn::Set(d, C::log2_e), rounder);
    const TreeLanes k = hn::Neg(hn::Sub(rounded, rounder));
    TreeLanes r = fused_lanes<float>(k, hn::Set(d, C::ln2_high), argument);
    r = fused_lanes<float>(k, hn::Set(d, C::ln2_low), r);
    TreeLanes q = hn::Set(d, C::q[C::degree]);
    for (int j = C::degree - 1; j >= 0; --j) q = fused_lanes<float>(q, r, hn::Set(d, C::q[j]));
    const TreeLanes tail = fused_lanes<float>(hn::Mul(r, r), q, r);
    const TreeLanes power = hn::BitCast(d, hn::ShiftLeft<C::significand_bits>(hn::BitCast(bits, rounded)));
    hn::StoreU(argument, d, z + i);
    hn::StoreU(hn::Mul(hn::Add(hn::Set(d, 1.0F), tail), power), d, w + i);
  }
}

HWY_ATTR float tree_sum(float* x, std::size_t count) {
  const Tag<float> d;
  constexpr std::size_t rest = stripes * warp_size;
  for (; count > rest; count /= 2) {
    for (std::size_t i = 0; i < count / 2; i += lanes<float>) {
      TreeLanes left, right;
      hn::LoadInterleaved2(d, x + 2 * i, left, right);
      hn::StoreU(hn::Add(left, right), d, x + i);
    }
  }
  const auto of_stripe = [&](std::size_t stripe, std::size_t i) { return hn::LoadU(d, x + stripe * warp_size + i); };
  for (std::size_t i = 0; i < warp_size; i += lanes<float>) {
    const TreeLanes first = hn::Add(of_stripe(0, i), of_stripe(1, i));
    hn::StoreU(hn::Add(first, hn::Add(of_stripe(2, i), of_stripe(3, i))), d, x + i);
  }
  return added_in_pairs<warp_size>(x);
}

HWY_ATTR float tree_products(const float* w, float* z, std::size_t count) {
  const Tag<float> d;
  for (std::size_t i = 0; i < count / 2; i += lanes<float>) {
    TreeLanes w0, w1, z0, z1;
    hn::LoadInterleaved2(d, w + 2 * i, w0, w1);
    hn::LoadInterleaved2(d, z + 2 * i, z0, z1);
    hn::StoreU(fused_lanes<float>(w1, z1, hn::Mul(w0, z0)), d, z + i);
  }
  return tree_sum(z, count / 2);
}

const TreePasses* tree_passes_of() {
  static constexpr TreePasses passes = {tree_largest, tree_weights, tree_sum, tree_products};
  return &passes;
}

}  // namespace HWY_NAMESPACE
}  // namespace softcheck::kernels::strict
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace softcheck::kernels::strict {

HWY_EXPORT(tree_passes_of);

const TreePasses& tree_passes() { return *HWY_DYNAMIC_DISPATCH(tree_passes_of)(); }

}  // namespace softcheck::kernels::strict
#endif
