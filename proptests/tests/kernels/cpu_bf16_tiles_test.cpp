// bf16 attention by tiles: what a query's bits depend on, the order of its additions, what is flushed, NaN and masked
// keys. Values are judged with the zoo (attention_zoo_test.cpp, judge/zoo_test.cpp).
#include <gtest/gtest.h>

#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdlib>

#include "numerics/formats/format.hpp"
#include "proptests/tests/kernels/limited_kernels.hpp"
#include "proptests/tests/kernels/loaded_kernel.hpp"
#include "proptests/tests/kernels/packed_problem.hpp"

namespace softcheck::kernel_tests {
namespace {

using Half = std::uint16_t;
const std::string tiles_symbol = "softcheck_attention_bf16_tiles";

Half to_bf16(double x) { return static_cast<Half>(numerics::encode(numerics::Format::bf16, x)); }
float of_bf16(Half bits) { return static_cast<float>(numerics::decode(numerics::Format::bf16, bits)); }

constexpr Half bf16_nan = 0x7fc0, bf16_infinity = 0x7f80, bf16_one = 0x3f80;

/// Tensors of a call, compact; row r of out, lse, entropy and the largest score together are result(r).
struct TilesCall {
  TilesCall(std::int64_t b, std::int64_t h, std::int64_t kh, std::int64_t nq, std::int64_t nk, std::int64_t dim,
            std::int64_t width)
      : batch(b),
        heads(h),
        key_heads(kh),
        queries(nq),
        keys(nk),
        d(dim),
        dv(width),
        q(numbers(b * h * nq * dim, 1)),
        k(numbers(b * kh * nk * dim, 2)),
        v(numbers(b * kh * nk * width, 3)) {}

  static std::vector<Half> numbers(std::int64_t count, std::uint32_t seed) {
    std::vector<Half> values;
    for (const double x : uneven_row<double>(static_cast<std::size_t>(count), seed)) {
      values.push_back(to_bf16(x / 16 + 1));  // [-1, 1)
    }
    return values;
  }
  std::size_t rows() const { return static_cast<std::size_t>(batch * heads * queries); }

  bool taken_by(softcheck_kernel kernel) {
    std::vector<std::int64_t> shape_q{batch, heads, queries, d}, shape_k{batch, key_heads, keys, d},
        shape_v{batch, key_heads, keys, dv}, shape_out{batch, heads, queries, dv},
        shape_mask{batch, heads, queries, keys};
    const auto tensor = [](auto& data, std::vector<std::int64_t>& shape, int rank, DLDataType type) {
      return DLTensor{data.data(), {kDLCPU, 0}, rank, type, shape.data(), nullptr, 0};
    };
    out.assign(rows() * static_cast<std::size_t>(dv), to_bf16(-7));
    for (std::vector<float>* numbers : {&lse, &entropy, &maximum}) numbers->assign(rows(), -7);
    const DLDataType f32 = dtype_of<float>();
    const DLTensor tq = tensor(q, shape_q, 4, bf16), tk = tensor(k, shape_k, 4, bf16), tv = tensor(v, shape_v, 4, bf16),
                   tm = tensor(mask, shape_mask, 4, mask_type);
    DLTensor to = tensor(out, shape_out, 4, bf16), tl = tensor(lse, shape_q, 3, f32),
             te = tensor(entropy, shape_q, 3, f32), tx = tensor(maximum, shape_q, 3, f32);
    std::vector<const DLTensor*> inputs{&tq, &tk, &tv};
    if (!mask.empty()) inputs.push_back(&tm);
    return takes_call(kernel, inputs, {&to, &tl, &te, &tx}, scale, causal);
  }
  void run() { EXPECT_TRUE(taken_by(cpu_kernel(tiles_symbol))); }

  std::vector<float> result(std::size_t row) const {
    std::vector<float> values;
    for (std::size_t c = 0; c < static_cast<std::size_t>(dv); ++c) {
      values.push_back(of_bf16(out[row * static_cast<std::size_t>(dv) + c]));
    }
    for (const std::vector<float>* numbers : {&lse, &entropy, &maximum}) values.push_back((*numbers)[row]);
    return values;
  }
  std::vector<float> results() const {
    std::vector<float> all;
    for (std::size_t row = 0; row < rows(); ++row) {
      for (const float x : result(row)) all.push_back(x);
    }
    return all;
  }

  std::int64_t batch, heads, key_heads, queries, keys, d, dv;
  bool causal = false;
  double scale = 2;
  std::vector<Half> q, k, v;
  std::vector<std::uint8_t> mask;
  std::vector<Half> out;
  std::vector<float> lse, entropy, maximum;
};

/// One query of a call alone, with the keys that causality lets it see and no others.
TilesCall alone(const TilesCall& all, std::int64_t b, std::int64_t h, std::int64_t i) {
  const std::int64_t seen = all.causal ? i + 1 + all.keys - all.queries : all.keys;
  const std::int64_t key_head = h / (all.heads / all.key_heads);
  TilesCall one(1, 1, 1, 1, seen, all.d, all.dv);
  const auto copy = [&](std::vector<Half>& to, const std::vector<Half>& from, std::int64_t row, std::int64_t width) {
    std::copy_n(from.begin() + row * width, static_cast<std::int64_t>(to.size()), to.begin());
  };
  copy(one.q, all.q, (b * all.heads + h) * all.queries + i, all.d);
  copy(one.k, all.k, (b * all.key_heads + key_head) * all.keys, all.d);
  copy(one.v, all.v, (b * all.key_heads + key_head) * all.keys, all.dv);
  return one;
}

// Tiles of 512 rows, units of 32, grouped heads, blocks and chunks of keys that only other queries see.
TEST(CpuBf16Tiles, BitsDependOnTheQuerysRowAlone) {
  for (const bool causal : {false, true}) {
    for (TilesCall all : {TilesCall(2, 4, 2, 61, 301, 19, 23), TilesCall(1, 2, 1, 300, 4500, 32, 32)}) {
      all.causal = causal;
      all.run();
      for (std::int64_t row = 0; row < all.batch * all.heads * all.queries; row += 37) {
        const std::int64_t i = row % all.queries, h = row / all.queries % all.heads;
        TilesCall one = alone(all, row / all.queries / all.heads, h, i);
        one.run();
        EXPECT_TRUE(same_bits(one.result(0), all.result(static_cast<std::size_t>(row)))) << causal << " row " << row;
      }
    }
  }
}

TEST(CpuBf16Tiles, BitsDependOnNoThreadCountAndNoRun) {
  TilesCall call(24, 2, 1, 130, 3000, 48, 16);  // long enough for threads to meet
  call.run();
  const std::vector<float> once = call.results();
  for (const char* threads : {"1", "2", "3", "8", "1000", "nonsense"}) {
    setenv("SOFTCHECK_THREADS", threads, 1);
    call.run();
    EXPECT_TRUE(same_bits(call.results(), once)) << threads;
  }
  unsetenv("SOFTCHECK_THREADS");
}

/// Calls whose sums round, overflow and are flushed, with masks and NaN among them.
std::vector<float> of_telling_calls(const KernelOf& kernel_of) {
  std::vector<float> all;
  const auto add = [&](TilesCall& call) {
    if (!call.taken_by(kernel_of(tiles_symbol))) return;
    for (const float x : call.results()) all.push_back(std::isnan(x) ? -1234.0f : x);
  };
  for (TilesCall call : {TilesCall(1, 4, 2, 70, 301, 19, 23), TilesCall(1, 1, 1, 40, 4500, 128, 64)}) {
    add(call);
    call.causal = true;
    add(call);
    call.mask.resize(static_cast<std::size_t>(call.batch * call.heads * call.queries * call.keys));
    for (std::size_t i = 0; i < call.mask.size(); ++i) call.mask[i] = static_cast<std::uint8_t>(i * i % 7 % 3);
    add(call);
    for (std::size_t i = 0; i < call.v.size(); i += 97) call.v[i] = i % 2 == 0 ? bf16_nan : bf16_infinity;
    for (std::size_t i = 0; i < call.k.size(); i += 997) call.k[i] = bf16_nan;
    add(call);
  }
  for (const double size : {0x1p-20, 0x1p-60, 0x1p-64, 0x1p-70, 0x1p+60, 0x1p+64}) {
    TilesCall call(1, 1, 1, 33, 200, 64, 32);
    call.scale = 1 / (size * size);
    if (!(std::fabs(static_cast<float>(call.scale)) < 0x1p126f)) call.scale = 0x1p126;
    for (std::vector<Half>* values : {&call.q, &call.k}) {
      for (Half& x : *values) x = to_bf16(size * static_cast<double>(of_bf16(x)));
    }
    for (Half& x : call.v) x = to_bf16(size * size * static_cast<double>(of_bf16(x)));
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
  TilesCall call(1, 1, 1, 1, 1, 4, 1);
  call.scale = 1;
  std::fill(call.q.begin(), call.q.end(), bf16_one);
  call.k = {to_bf16(0x1p24), bf16_one, to_bf16(-0x1p24), bf16_one};
  call.run();
  EXPECT_EQ(call.lse[0], 2.0f);
  call.k = {to_bf16(0x1p24), to_bf16(-0x1p24), bf16_one, bf16_one};  // 2^24 + 1 is 2^24
  call.run();
  EXPECT_EQ(call.lse[0], 1.0f);
}

// A subnormal query counts as 0, and so does a product below 2^-126.
TEST(CpuBf16Tiles, SubnormalNumbersAreFlushed) {
  TilesCall call(1, 1, 1, 1, 1, 1, 1);
  call.scale = 0x1p100;
  call.q = {0x0040};  // 2^-127
  call.k = {to_bf16(0x1p27)};
  call.run();
  EXPECT_EQ(call.lse[0], 0.0f);
  call.q = {to_bf16(0x1p-126)};
  call.run();
  EXPECT_EQ(call.lse[0], 2.0f);
  call.k = {to_bf16(0.5)};
  call.run();
  EXPECT_EQ(call.lse[0], 0.0f);
}

TEST(CpuBf16Tiles, TheEnvironmentIsAsBefore) {
  TilesCall call(1, 1, 1, 3, 140, 5, 5);
  volatile float one = 1, little = 0x1p-30f, least = 0x1p-126f;
  std::fesetround(FE_UPWARD);
  call.run();
  EXPECT_GT(one + little, 1.0f);
  EXPECT_EQ(std::fegetround(), FE_UPWARD);
  std::fesetround(FE_TONEAREST);
  // Not flushed here. By its bits, as 0 and a subnormal number are equal where operands are flushed.
  EXPECT_EQ(std::bit_cast<std::uint32_t>(least / 2), 0x00400000u);
  const std::vector<float> upward = call.results();
  call.run();
  EXPECT_TRUE(same_bits(call.results(), upward));
}

// What a query does not see may hold anything: the bits are those of zeros there.
TEST(CpuBf16Tiles, WhatIsNotSeenMayBeNan) {
  TilesCall call(1, 1, 1, 40, 300, 33, 40);
  call.causal = true;
  call.mask.assign(40 * 300, 1);
  for (std::size_t i = 0; i < 40; ++i) call.mask[i * 300 + 130] = call.mask[i * 300 + 7] = 0;
  TilesCall bad = call;
  for (const std::size_t key : {7, 130}) {
    std::fill_n(call.k.begin() + static_cast<std::ptrdiff_t>(key * 33), 33, Half{0});
    std::fill_n(call.v.begin() + static_cast<std::ptrdiff_t>(key * 40), 40, Half{0});
    std::fill_n(bad.k.begin() + static_cast<std::ptrdiff_t>(key * 33), 33, bf16_nan);
    std::fill_n(bad.v.begin() + static_cast<std::ptrdiff_t>(key * 40), 40, bf16_infinity);
  }
  // The last key is seen by the last query alone.
  bad.v[299 * 40 + 3] = bf16_nan;
  call.run();
  bad.run();
  for (std::size_t row = 0; row < 39; ++row) {
    EXPECT_TRUE(same_bits(bad.result(row), call.result(row))) << row;
  }
  const std::vector<float> last = bad.result(39), right = call.result(39);
  for (std::size_t c = 0; c < last.size(); ++c) {
    if (c == 3) {
      EXPECT_TRUE(std::isnan(last[c]));
    } else {
      EXPECT_EQ(last[c], right[c]) << c;
    }
  }
}

TEST(CpuBf16Tiles, ANanOrAnInfiniteScoreLeavesNoResult) {
  for (const Half bad : {bf16_nan, bf16_infinity}) {
    TilesCall call(1, 1, 1, 3, 140, 5, 5);
    call.causal = true;  // queries see 138, 139 and 140 keys
    std::fill(call.q.begin(), call.q.end(), bf16_one);
    call.k[138 * 5 + 2] = bad;
    call.run();
    for (const float x : call.result(0)) EXPECT_FALSE(std::isnan(x));
    for (const std::size_t row : {1, 2}) {
      for (const float x : call.result(row)) EXPECT_TRUE(std::isnan(x)) << row;
    }
  }
}

TEST(CpuBf16Tiles, AFullyMaskedQueryIsZero) {
  TilesCall call(1, 1, 1, 50, 140, 5, 2);
  call.mask.assign(50 * 140, 1);
  std::fill_n(call.mask.begin() + 49 * 140, 140, std::uint8_t{0});
  call.v[0] = bf16_nan;
  call.run();
  constexpr float infinity = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(same_bits(call.result(49), {0, 0, -infinity, 0, -infinity}));
  EXPECT_TRUE(std::isnan(call.result(48)[0]));
  EXPECT_FALSE(std::isnan(call.result(48)[1]));
}

// n equal keys: the output is their value, the entropy ln n; 2^17 keys are 64 chunks.
TEST(CpuBf16Tiles, EqualKeysAreAveraged) {
  for (const std::int64_t n : {512, 1 << 17}) {
    TilesCall call(1, 1, 1, 1, n, 1, 1);
    std::fill(call.k.begin(), call.k.end(), to_bf16(0.25));
    std::fill(call.v.begin(), call.v.end(), to_bf16(3));
    call.run();
    EXPECT_EQ(call.out[0], to_bf16(3));
    EXPECT_EQ(call.entropy[0], static_cast<float>(std::log(static_cast<double>(n))));
  }
}

// Half of the keys score 0 with a value of 1, the others -4 with a value of 2: blocks, and chunks, of different maxima.
TEST(CpuBf16Tiles, DifferentMaximaAreRescaled) {
  for (const std::int64_t each : {128, 2048}) {
    for (const bool rising : {false, true}) {
      TilesCall call(1, 1, 1, 1, 2 * each, 1, 1);
      call.scale = 1;
      call.q = {bf16_one};
      for (std::int64_t j = 0; j < 2 * each; ++j) {
        const bool high = (j >= each) == rising;
        call.k[static_cast<std::size_t>(j)] = to_bf16(high ? 0 : -4);
        call.v[static_cast<std::size_t>(j)] = high ? bf16_one : to_bf16(2);
      }
      call.run();
      const double low = std::exp(-4.0), all = static_cast<double>(each) * (1 + low);
      // The output rounds by 2^-8 of it. Weights of 1 do not round, those of e^-4 by as much of a share of 0.036.
      EXPECT_LT(std::fabs(static_cast<double>(of_bf16(call.out[0])) * (1 + low) / (1 + 2 * low) - 1), 1.04 * 0x1p-8)
          << each << rising;
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
  TilesCall call(1, 1, 1, 1, 2, 1, 1);
  call.scale = 0x1p-10;
  call.q = {bf16_one};
  call.k = {to_bf16(0), to_bf16(-1)};
  call.v = {to_bf16(-1), bf16_one};
  call.run();
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
    for (const char* threads : {"1", "3"}) {
      setenv("SOFTCHECK_THREADS", threads, 1);
      PackedProblem<Half, float> all(shape, bf16, to_bf16);
      EXPECT_TRUE(all.run(packed, Pass::forward, causal));
      EXPECT_TRUE(all.same_results(each)) << threads << ", causal " << causal;
    }
    unsetenv("SOFTCHECK_THREADS");
  }
}

TEST(CpuBf16Tiles, OtherFormatsAreRefused) {
  for (const DLDataType type : {dtype_of<float>(), f16, dtype_of<double>()}) {
    Tensor<double> q(type, {1, 1, 2, 3}), k(type, {1, 1, 4, 3}), v(type, {1, 1, 4, 3}), out(type, {1, 1, 2, 3});
    EXPECT_FALSE(takes_call(cpu_kernel(tiles_symbol), {&q.view, &k.view, &v.view}, {&out.view}));
  }
}

/// Whether the kernel takes a call of version 2 with these attributes.
bool takes_attributes(const softcheck_attributes& attributes) {
  Tensor<Half> q(bf16, {1, 1, 2, 3}), k(bf16, {1, 1, 4, 3}), v(bf16, {1, 1, 4, 3}), out(bf16, {1, 1, 2, 3});
  const DLTensor* inputs[] = {&q.view, &k.view, &v.view};
  DLTensor* outputs[] = {&out.view};
  const std::uint32_t roles[] = {SOFTCHECK_ROLE_QUERY, SOFTCHECK_ROLE_KEY, SOFTCHECK_ROLE_VALUE};
  softcheck_call_2 call{{SOFTCHECK_KERNEL_ABI_VERSION_2, 3, 1, inputs, outputs, 1, 1, 0, nullptr},
                        SOFTCHECK_OP_ATTENTION,
                        roles,
                        &attributes};
  return cpu_kernel(tiles_symbol)(&call.call) == 0;
}

TEST(CpuBf16Tiles, AttributesAreRefused) {
  softcheck_attributes plain{};
  plain.size = sizeof plain;
  softcheck_attributes left = plain, right = plain, softcap = plain;
  left.window_left_plus_1 = 2;
  right.window_right_plus_1 = 2;
  softcap.softcap = 30;
  EXPECT_TRUE(takes_attributes(plain));
  for (const softcheck_attributes& attributes : {left, right, softcap}) EXPECT_FALSE(takes_attributes(attributes));
}

}  // namespace
}  // namespace softcheck::kernel_tests
