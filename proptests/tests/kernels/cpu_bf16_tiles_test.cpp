// bf16 attention by tiles: what a query's bits depend on, the order of its additions, what is flushed, NaN and masked
// keys. Values are judged with the zoo (judge/zoo_test.cpp).
#include <gtest/gtest.h>

#include <bit>
#include <cfenv>
#include <cmath>

#include "proptests/tests/kernels/attention_tensors.hpp"
#include "proptests/tests/kernels/limited_kernels.hpp"
#include "proptests/tests/kernels/packed_problem.hpp"

namespace softcheck::kernel_tests {
namespace {

using Half = std::uint16_t;
using TilesCall = AttentionTensors<Half>;
const std::string tiles_symbol = "softcheck_attention_bf16_tiles";

constexpr auto to_bf16 = Stored<Half>::of;
constexpr auto of_bf16 = Stored<Half>::number;
constexpr Half bf16_nan = 0x7fc0, bf16_infinity = 0x7f80, bf16_one = 0x3f80;

/// One query of numbers that a test sets.
TilesCall one_query(std::int64_t keys, std::int64_t dim = 1) {
  TilesCall call({1, 1, 1, 1, keys, dim, 1});
  call.scale = 1;
  std::ranges::fill(call.q.elements, bf16_one);
  return call;
}

// Tiles of 512 rows, units of 32, grouped heads, blocks and chunks of keys that only other queries see.
TEST(CpuBf16Tiles, BitsDependOnTheQuerysRowAlone) {
  for (const bool causal : {false, true}) {
    expect_bits_of_each_query_alone(TilesCall({2, 4, 2, 61, 301, 19, 23, causal}), tiles_symbol, 37);
    expect_bits_of_each_query_alone(TilesCall({1, 2, 1, 300, 4500, 32, 32, causal}), tiles_symbol, 37);
  }
}

// Long enough for threads to meet.
TEST(CpuBf16Tiles, BitsDependOnNoThreadCountAndNoRun) {
  expect_bits_of_any_threads(TilesCall({24, 2, 1, 130, 3000, 48, 16}), tiles_symbol);
}

/// Calls whose sums round, overflow and are flushed, with masks and NaN among them.
std::vector<float> of_telling_calls(const KernelOf& kernel_of) {
  std::vector<float> all;
  const auto add = [&](TilesCall& call) {
    if (!call.attend(kernel_of(tiles_symbol))) return;
    for (const float x : call.results()) all.push_back(std::isnan(x) ? -1234.0f : x);
  };
  for (TilesCall call : {TilesCall({1, 4, 2, 70, 301, 19, 23}), TilesCall({1, 1, 1, 40, 4500, 128, 64})}) {
    add(call);
    call.shape.causal = true;
    add(call);
    call.shape.masked = true;
    for (std::size_t i = 0; i < call.mask.elements.size(); ++i) call.mask[i] = static_cast<std::uint8_t>(i * i % 7 % 3);
    add(call);
    for (std::size_t i = 0; i < call.v.elements.size(); i += 97) call.v[i] = i % 2 == 0 ? bf16_nan : bf16_infinity;
    for (std::size_t i = 0; i < call.k.elements.size(); i += 997) call.k[i] = bf16_nan;
    add(call);
  }
  for (const double size : {0x1p-20, 0x1p-60, 0x1p-64, 0x1p-70, 0x1p+60, 0x1p+64}) {
    TilesCall call({1, 1, 1, 33, 200, 64, 32});
    call.scale = 1 / (size * size);
    if (!(std::fabs(static_cast<float>(call.scale)) < 0x1p126f)) call.scale = 0x1p126;
    for (Tensor<Half>* tensor : {&call.q, &call.k}) {
      for (Half& x : tensor->elements) x = to_bf16(size * of_bf16(x));
    }
    for (Half& x : call.v.elements) x = to_bf16(size * size * of_bf16(x));
    add(call);
  }
  return all;
}

// AMX's tiles and AVX-512's pairs add as the plain code does, whatever is added.
TEST(CpuBf16Tiles, InstructionSetsGiveTheSameBits) {
  const std::vector<float> best = results_up_to("any", of_telling_calls);
  if (best.empty()) GTEST_SKIP() << "no fused multiply-adds";
  ASSERT_GT(best.size(), 20000u);
  EXPECT_TRUE(same_bits(results_up_to("avx512", of_telling_calls), best));
  EXPECT_TRUE(same_bits(results_up_to("avx2", of_telling_calls), best));
  EXPECT_TRUE(results_up_to("ssse3", of_telling_calls).empty());  // refused
}

// Of 32 products the even and the odd ones are added apart: 2^24, 1, -2^24, 1 are 2 in this order, and 1 one after the
// other.
TEST(CpuBf16Tiles, EvenAndOddProductsAreAddedApart) {
  TilesCall call = one_query(1, 4);
  call.k.set({to_bf16(0x1p24), bf16_one, to_bf16(-0x1p24), bf16_one});
  call.run(tiles_symbol);
  EXPECT_EQ(call.lse[0], 2.0f);
  call.k.set({to_bf16(0x1p24), to_bf16(-0x1p24), bf16_one, bf16_one});  // 2^24 + 1 is 2^24
  call.run(tiles_symbol);
  EXPECT_EQ(call.lse[0], 1.0f);
}

// A subnormal query, 2^-127, counts as 0, and so does a product below 2^-126.
TEST(CpuBf16Tiles, SubnormalNumbersAreFlushed) {
  TilesCall call = one_query(1);
  call.scale = 0x1p100;
  for (const auto& [q, k, lse] :
       {std::tuple(0x1p-127, 0x1p27, 0.0f), {0x1p-126, 0x1p27, 2.0f}, {0x1p-126, 0.5, 0.0f}}) {
    call.q[0] = to_bf16(q);
    call.k[0] = to_bf16(k);
    call.run(tiles_symbol);
    EXPECT_EQ(call.lse[0], lse) << q << " " << k;
  }
}

TEST(CpuBf16Tiles, TheEnvironmentIsAsBefore) {
  TilesCall call({1, 1, 1, 3, 140, 5, 5});
  volatile float one = 1, little = 0x1p-30f, least = 0x1p-126f;
  std::fesetround(FE_UPWARD);
  call.run(tiles_symbol);
  EXPECT_GT(one + little, 1.0f);
  EXPECT_EQ(std::fegetround(), FE_UPWARD);
  std::fesetround(FE_TONEAREST);
  // Not flushed here. By its bits, as 0 and a subnormal number are equal where operands are flushed.
  EXPECT_EQ(std::bit_cast<std::uint32_t>(least / 2), 0x00400000u);
  const std::vector<float> upward = call.results();
  call.run(tiles_symbol);
  EXPECT_TRUE(same_bits(call.results(), upward));
}

// What a query does not see may hold anything: the bits are those of zeros there.
TEST(CpuBf16Tiles, WhatIsNotSeenMayBeNan) {
  TilesCall call({1, 1, 1, 40, 300, 33, 40, true, true});
  for (std::size_t i = 0; i < 40; ++i) call.mask[i * 300 + 130] = call.mask[i * 300 + 7] = 0;
  TilesCall bad = call;
  const auto set_key = [](Tensor<Half>& tensor, std::int64_t key, Half value) {
    std::fill_n(tensor.elements.begin() + key * tensor.shape[3], tensor.shape[3], value);
  };
  for (const std::int64_t key : {7, 130}) {
    set_key(call.k, key, 0);
    set_key(call.v, key, 0);
    set_key(bad.k, key, bf16_nan);
    set_key(bad.v, key, bf16_infinity);
  }
  // The last key is seen by the last query alone.
  bad.v[299 * 40 + 3] = bf16_nan;
  call.run(tiles_symbol);
  bad.run(tiles_symbol);
  for (std::size_t row = 0; row < 39; ++row) {
    EXPECT_TRUE(same_bits(bad.result(row), call.result(row))) << row;
  }
  std::vector<float> last = bad.result(39);
  EXPECT_TRUE(std::isnan(last[3]));
  last[3] = call.result(39)[3];
  EXPECT_EQ(last, call.result(39));
}

TEST(CpuBf16Tiles, ANanOrAnInfiniteScoreLeavesNoResult) {
  for (const Half bad : {bf16_nan, bf16_infinity}) {
    TilesCall call({1, 1, 1, 3, 140, 5, 5, true});  // queries see 138, 139 and 140 keys
    std::ranges::fill(call.q.elements, bf16_one);
    call.k[138 * 5 + 2] = bad;
    call.run(tiles_symbol);
    for (const std::size_t row : {0, 1, 2}) {
      for (const float x : call.result(row)) EXPECT_EQ(std::isnan(x), row > 0) << row;
    }
  }
}

TEST(CpuBf16Tiles, AFullyMaskedQueryIsZero) { expect_a_fully_masked_query_is_zero<Half>(tiles_symbol); }

// 2^17 keys are 64 chunks.
TEST(CpuBf16Tiles, EqualKeysAreAveraged) {
  for (const std::int64_t n : {512, 1 << 17}) expect_equal_keys_are_averaged<Half>(tiles_symbol, n);
}

// Half of the keys score 0 with a value of 1, the others -4 with a value of 2: blocks, and chunks, of different maxima.
TEST(CpuBf16Tiles, UnequalMaximaAreRescaled) {
  for (const std::int64_t each : {128, 2048}) {
    for (const bool rising : {false, true}) {
      TilesCall call = one_query(2 * each);
      for (std::int64_t j = 0; j < 2 * each; ++j) {
        const bool high = (j >= each) == rising;
        call.k[static_cast<std::size_t>(j)] = to_bf16(high ? 0 : -4);
        call.v[static_cast<std::size_t>(j)] = high ? bf16_one : to_bf16(2);
      }
      call.run(tiles_symbol);
      const double low = std::exp(-4.0), all = static_cast<double>(each) * (1 + low);
      // The output rounds by 2^-8 of it. Weights of 1 do not round, those of e^-4 by as much of a share of 0.036.
      EXPECT_LT(std::fabs(of_bf16(call.out[0]) * (1 + low) / (1 + 2 * low) - 1), 1.04 * 0x1p-8) << each << rising;
      // B5: 52 additions, an exponential and its product, the logarithm of a number below e^9, and the result.
      EXPECT_LT(std::fabs(static_cast<double>(call.lse[0]) - std::log(all)), (52 + 6 + 3 * 9) * 0x1p-24)
          << each << rising;
      EXPECT_LT(std::fabs(static_cast<double>(call.entropy[0]) - std::log(all) - 4 * low / (1 + low)),
                2 * (52 + 6 + 3 * 9) * 0x1p-24)
          << each << rising;
    }
  }
}

// A weight of e^(-1/1024) is 1 where it meets its value, and itself in the sum: -1 + 1 is 0 in the output, and S is
// not 2.
TEST(CpuBf16Tiles, SumsTakeTheWeightsBeforeTheyRound) {
  TilesCall call = one_query(2);
  call.scale = 0x1p-10;
  call.k.set({to_bf16(0), to_bf16(-1)});
  call.v.set({to_bf16(-1), bf16_one});
  call.run(tiles_symbol);
  EXPECT_EQ(call.out[0], to_bf16(0));
  // S and the result round, each by 2^-24 of it, and the exponential errs by as much twice; ln 2 is 2^-11 away.
  EXPECT_LT(std::fabs(static_cast<double>(call.lse[0]) - std::log1p(std::exp(-0x1p-10))), 4 * 0x1p-24);
}

TEST(CpuBf16Tiles, ASequencesBitsAreThoseOfItsOwnCall) {
  const PackedShape shape{{0, 5, 61, 1, 1, 0, 130, 2}, {7, 5, 200, 0, 700, 0, 301, 2}, 4, 2, 19, 21};
  const softcheck_kernel kernel = cpu_kernel(tiles_symbol), packed = cpu_kernel(tiles_symbol + "_varlen");
  for (const bool causal : {false, true}) {
    PackedProblem<Half, float> each(shape, bf16, to_bf16);
    ASSERT_TRUE(each.run_each(kernel, Pass::forward, causal));
    on_threads({"1", "3"}, [&] {
      PackedProblem<Half, float> all(shape, bf16, to_bf16);
      EXPECT_TRUE(all.run(packed, Pass::forward, causal));
      EXPECT_TRUE(all.same_results(each)) << "causal " << causal;
    });
  }
}

TEST(CpuBf16Tiles, OtherFormatsAreRefused) {
  for (const DLDataType type : {dtype_of<float>(), f16, dtype_of<double>()}) {
    Tensor<double> q(type, {1, 1, 2, 3}), k(type, {1, 1, 4, 3}), v(type, {1, 1, 4, 3}), out(type, {1, 1, 2, 3});
    EXPECT_FALSE(takes_call(cpu_kernel(tiles_symbol), {&q.view, &k.view, &v.view}, {&out.view}));
  }
}

TEST(CpuBf16Tiles, AttributesAreRefused) {
  Tensor<Half> q(bf16, {1, 1, 2, 3}), k(bf16, {1, 1, 4, 3}), v(bf16, {1, 1, 4, 3}), out(bf16, {1, 1, 2, 3});
  const auto takes = [&](auto change) {
    Call2 call(SOFTCHECK_OP_ATTENTION, {&q.view, &k.view, &v.view}, attention_roles(), out.view);
    change(call.attributes);
    return call.run(tiles_symbol);
  };
  EXPECT_TRUE(takes([](softcheck_attributes&) {}));
  EXPECT_FALSE(takes([](softcheck_attributes& of) { of.window_left_plus_1 = 2; }));
  EXPECT_FALSE(takes([](softcheck_attributes& of) { of.window_right_plus_1 = 2; }));
  EXPECT_FALSE(takes([](softcheck_attributes& of) { of.softcap = 30; }));
}

}  // namespace
}  // namespace softcheck::kernel_tests
