// A loss on attention's log-sum-exps beside one on its output, where the gradients are numbers of the format.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "proptests/tests/kernels/version_2_call.hpp"

namespace softcheck::kernel_tests {
namespace {

/// A whole number as its format stores it; f16 in 16 bits.
template <class Bits>
Bits bits_of(int x) {
  if constexpr (sizeof(Bits) == 2) {
    return static_cast<Bits>(numerics::encode(numerics::Format::f16, x));
  } else {
    return static_cast<Bits>(x);
  }
}

// Two queries, two equal keys: g = 1 and 3, delta = 2. In f32 and f64 the log-sum-exps are those of p = 1 for each key;
// in f16 they are in 16 bits, and not read: p = 1/2.
template <class Bits>
struct TwoQueries {
  static constexpr DLDataType type = {kDLFloat, 8 * sizeof(Bits), 1};
  Tensor<Bits> q{type, {1, 1, 2, 1}}, k{type, {1, 1, 2, 1}, {}, 0, bits_of<Bits>(1)}, v{type, {1, 1, 2, 1}},
      out{type, {1, 1, 2, 1}, {}, 0, bits_of<Bits>(2)}, lse{type, {1, 1, 2}},
      dout{type, {1, 1, 2, 1}, {}, 0, bits_of<Bits>(1)}, by_lse{type, {1, 1, 2}, {9, 7, 3}, 2}, dq{type, {1, 1, 2, 1}},
      dk{type, {1, 1, 2, 1}}, dv{type, {1, 1, 2, 1}};
  Call2 call{SOFTCHECK_OP_ATTENTION_BACKWARD,
             {&q.view, &k.view, &v.view, &out.view, &lse.view, &dout.view, &by_lse.view},
             {SOFTCHECK_ROLE_QUERY, SOFTCHECK_ROLE_KEY, SOFTCHECK_ROLE_VALUE, SOFTCHECK_ROLE_OUT, SOFTCHECK_ROLE_LSE,
              SOFTCHECK_ROLE_OUT_GRADIENT, SOFTCHECK_ROLE_LSE_GRADIENT},
             dq.view};

  TwoQueries() {
    q.elements[0] = lse.elements[0] = bits_of<Bits>(2);
    q.elements[1] = lse.elements[1] = bits_of<Bits>(8);
    v.elements[0] = bits_of<Bits>(1);
    v.elements[1] = bits_of<Bits>(3);
    by_lse.elements[2] = bits_of<Bits>(4);
    by_lse.elements[5] = bits_of<Bits>(-2);
    call.outputs.push_back(&dk.view);
    call.outputs.push_back(&dv.view);
  }
};

template <class Bits>
void gradients_are(const std::vector<int>& dq, const std::vector<int>& dk, const std::vector<int>& dv) {
  const auto stored = [](const std::vector<int>& values) {
    std::vector<Bits> bits;
    for (const int x : values) bits.push_back(bits_of<Bits>(x));
    return bits;
  };
  TwoQueries<Bits> of;
  ASSERT_TRUE(of.call.run());
  EXPECT_TRUE(same_bits(of.dq.elements, stored(dq)));
  EXPECT_TRUE(same_bits(of.dk.elements, stored(dk)));
  EXPECT_TRUE(same_bits(of.dv.elements, stored(dv)));
}

TEST(CpuLseGradient, IsAddedToEachDifferenceOfWhatWasSaved) {
  gradients_are<float>({8, -4}, {-18, 2}, {2, 2});
  gradients_are<double>({8, -4}, {-18, 2}, {2, 2});
}

TEST(CpuLseGradient, IsAddedToEachDifference) { gradients_are<std::uint16_t>({4, -2}, {-9, 1}, {1, 1}); }

TEST(CpuLseGradient, OfAnotherShapeOrPlaceIsRefused) {
  TwoQueries<float> of;
  Tensor<float> longer(dtype_of<float>(), {1, 1, 3});
  of.call.inputs.back() = &longer.view;
  EXPECT_FALSE(of.call.run());
  of.call.inputs.back() = &of.by_lse.view;
  of.call.roles.back() = SOFTCHECK_ROLE_SINKS;
  EXPECT_FALSE(of.call.run());
  of.call.roles.back() = SOFTCHECK_ROLE_LSE_GRADIENT;
  EXPECT_TRUE(of.call.run());
}

}  // namespace
}  // namespace softcheck::kernel_tests
