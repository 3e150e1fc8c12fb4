// The formats of 8 bits in our CPU kernels: every number read, and written from the middle of every two. The judge
// judges the rest.
#include <gtest/gtest.h>

#include <cmath>

#include "proptests/tests/kernels/version_2_call.hpp"

namespace softcheck::kernel_tests {
namespace {

using numerics::Format;

/// out = (a + b) / 2 of every two patterns, by the merge of two parts of equal weight.
std::vector<std::uint8_t> middles(Format format) {
  const DLDataType type = dlpack_type(format);
  constexpr std::int64_t patterns = 256;
  Tensor<std::uint8_t> parts(type, {2, patterns, patterns}), merged(type, {patterns, patterns});
  F32 lse({2, patterns}, {}, 0, 3), merged_lse({patterns});
  for (std::size_t i = 0; i < patterns * patterns; ++i) {
    parts.elements[i] = static_cast<std::uint8_t>(i / patterns);
    parts.elements[patterns * patterns + i] = static_cast<std::uint8_t>(i % patterns);
  }
  Call2 call(SOFTCHECK_OP_MERGE_STATES, {&parts.view, &lse.view}, {SOFTCHECK_ROLE_OUT, SOFTCHECK_ROLE_LSE},
             merged.view);
  call.outputs.push_back(&merged_lse.view);
  EXPECT_TRUE(call.run());
  merged.elements.resize(patterns * patterns);
  return merged.elements;
}

// Among the middles are all ties; a sum of two numbers of 8 bits is exact in f32.
TEST(CpuEightBits, EveryMiddleOfTwoNumbersIsRoundedToNearestEven) {
  for (const Format format : numerics::all_formats()) {
    if (numerics::properties(format).storage_bits != 8) continue;
    const std::vector<std::uint8_t> got = middles(format);
    std::size_t ties = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double a = numerics::decode(format, i / 256), b = numerics::decode(format, i % 256), exact = (a + b) / 2;
      const double result = numerics::decode(format, got[i]);
      if (std::isnan(exact)) {
        ASSERT_TRUE(std::isnan(result)) << i;
        continue;
      }
      const double expected = numerics::round_to(format, exact);
      // Of two zeros the sum of the products decides the sign.
      ASSERT_EQ(result, expected) << a << " " << b;
      if (exact != 0) {
        ASSERT_EQ(got[i], numerics::encode(format, exact)) << a << " " << b;
      }
      ties += i / 256 + 1 == i % 256 && expected != exact ? 1 : 0;
    }
    EXPECT_GT(ties, 240u);
  }
}

// x - max of a row of two is exact far from 0: -x for the smaller one, and what lies beyond rounds as the format says.
TEST(CpuEightBits, WhatIsBeyondTheLargestNumberIsNanOrInfinite) {
  for (const Format format : numerics::all_formats()) {
    if (numerics::properties(format).storage_bits != 8) continue;
    const numerics::FormatProperties& facts = numerics::properties(format);
    const DLDataType type = dlpack_type(format);
    for (const double theta : {1.0, 0.96875, 0.75}) {
      Tensor<std::uint8_t> logits(type, {1, 2}), out(type, {1, 2});
      logits.at(0, 1) = static_cast<std::uint8_t>(numerics::encode(format, -facts.largest));
      Call call(logits.view, out.view);
      call.call.theta = theta;
      ASSERT_EQ(cpu_kernel("softcheck_log_softmax")(&call.call), 0);
      EXPECT_EQ(out.at(0, 0), 0);
      EXPECT_EQ(out.at(0, 1), numerics::encode(format, -facts.largest / theta)) << facts.name << " " << theta;
    }
  }
}

}  // namespace
}  // namespace softcheck::kernel_tests
