// The same bits whatever the machine does: threads, reruns, instruction sets.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "numerics/formats/format.hpp"
#include "proptests/tests/kernels/limited_kernels.hpp"
#include "proptests/tests/kernels/loaded_kernel.hpp"
#include "proptests/tests/kernels/version_2_call.hpp"

namespace softcheck::kernel_tests {
namespace {

std::vector<float> run_tensor(softcheck_kernel kernel, const std::string& symbol, const Tensor<float>& in) {
  F32 out(result_shape(symbol, in.shape[0], in.shape[1]));
  Call call(in.view, out.view);
  if (kernel == nullptr || kernel(&call.call) != 0) return {};
  return out.elements;
}

/// rows different rows of n logits through a kernel.
std::vector<float> run_rows(softcheck_kernel kernel, const std::string& symbol, std::int64_t rows, std::int64_t n) {
  F32 in({rows, n});
  fill_unevenly(in);
  return run_tensor(kernel, symbol, in);
}

TEST(CpuKernels, BitsDependOnNoThreadCountAndNoRun) {
  for (const std::string& symbol : cpu_symbols()) {
    for (const auto& [rows, n] : {std::pair<std::int64_t, std::int64_t>{3000, 33}, {70, 1800}, {3, 100000}}) {
      const std::vector<float> once = run_rows(cpu_kernel(symbol), symbol, rows, n);
      ASSERT_FALSE(once.empty());
      on_threads({"1", "2", "7", "64"}, [&, rows = rows, n = n] {
        EXPECT_TRUE(same_bits(run_rows(cpu_kernel(symbol), symbol, rows, n), once)) << symbol;
      });
    }
  }
}

std::vector<float> of_every_kernel(const KernelOf& kernel_of) {
  std::vector<float> all;
  for (const std::string& symbol : cpu_symbols()) {
    for (const std::int64_t n : {1, 31, 500, 897, 5000}) {
      const std::vector<float> values = run_rows(kernel_of(symbol), symbol, 1, n);
      all.insert(all.end(), values.begin(), values.end());
    }
  }
  return all;
}

TEST(CpuKernels, InstructionSetsWithFmaGiveTheSameBits) {
#if defined(__x86_64__)
  const bool two = __builtin_cpu_supports("avx512bw") != 0;
#else
  constexpr bool two = false;
#endif
  if (!two) GTEST_SKIP() << "no AVX-512: there is one instruction set with FMA here";
  const std::vector<float> best = results_up_to("any", of_every_kernel);
  ASSERT_GT(best.size(), 10000u);
  EXPECT_TRUE(same_bits(results_up_to("avx2", of_every_kernel), best));
  // Without FMA the last bits differ: the limit is obeyed.
  const std::vector<float> without = results_up_to("ssse3", of_every_kernel);
  EXPECT_EQ(without.size(), best.size());
  EXPECT_FALSE(same_bits(without, best));
}

/// Rows that hold a NaN in each place, beside finite logits or nothing but -inf, every third with a +inf.
std::vector<float> of_rows_with_nan(const KernelOf& kernel_of) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> all;
  for (const std::string& symbol : cpu_symbols()) {
    for (const std::size_t n : {std::size_t{1}, std::size_t{33}, std::size_t{128}, std::size_t{900}}) {
      for (const bool others : {true, false}) {
        F32 in({static_cast<std::int64_t>(n), static_cast<std::int64_t>(n)});
        for (std::size_t place = 0; place < n; ++place) {
          std::vector<float> logits = others ? uneven_row<float>(n) : std::vector<float>(n, -infinity);
          if (place % 3 == 0) logits[n / 2] = infinity;
          logits[place] = std::numeric_limits<float>::quiet_NaN();
          in.set_row(static_cast<std::int64_t>(place), logits);
        }
        const std::vector<float> values = run_tensor(kernel_of(symbol), symbol, in);
        all.insert(all.end(), values.begin(), values.end());
      }
    }
  }
  return all;
}

TEST(CpuKernels, EveryInstructionSetSeesANan) {
  for (const char* instruction_set : {"any", "avx2", "ssse3"}) {
    const std::vector<float> values = results_up_to(instruction_set, of_rows_with_nan);
    EXPECT_GT(values.size(), 100000u) << instruction_set;
    const auto numbers = std::count_if(values.begin(), values.end(), [](float x) { return !std::isnan(x); });
    EXPECT_EQ(numbers, 0) << instruction_set;
  }
}

/// logsumexp of one logit, of all f16.
std::vector<float> of_every_half(const KernelOf& kernel_of) {
  Tensor<std::uint16_t> in(f16, {65536, 1});
  Tensor<std::uint16_t> out(f16, {65536});
  for (std::int64_t bits = 0; bits < 65536; ++bits) in.at(bits, 0) = static_cast<std::uint16_t>(bits);
  Call call(in.view, out.view);
  const softcheck_kernel kernel = kernel_of("softcheck_logsumexp");
  if (kernel == nullptr || kernel(&call.call) != 0) return {};
  std::vector<float> values;
  for (const std::uint16_t bits : out.elements) {
    values.push_back(static_cast<float>(numerics::decode(numerics::Format::f16, bits)));
  }
  return values;
}

TEST(CpuKernels, EveryInstructionSetReadsEveryHalf) {
  for (const char* instruction_set : {"any", "avx2", "ssse3"}) {
    const std::vector<float> values = results_up_to(instruction_set, of_every_half);
    ASSERT_EQ(values.size(), 65536u) << instruction_set;
    for (std::uint64_t bits = 0; bits < values.size(); ++bits) {
      const auto x = static_cast<float>(numerics::decode(numerics::Format::f16, bits));
      ASSERT_TRUE(std::isnan(x) ? std::isnan(values[bits]) : x == values[bits]) << instruction_set << std::hex << bits;
    }
  }
}

/// Rows whose results are ties between halves, subnormal halves and beyond them.
std::vector<std::vector<float>> rows_to_round() {
  std::vector<float> spread(3000);
  for (std::size_t i = 0; i < spread.size(); ++i) spread[i] = -static_cast<float>(i % 2048) / 64;  // exact in f16
  return {std::vector<float>(12153, 0.0f), std::vector<float>(8283, 0.0f), spread, {65504.0f, -65504.0f, 0.0f}};
}

/// The results of rows_to_round() in f32, rounded here, where wide, else as the kernels round them to f16.
std::vector<float> of_rounded_rows(const KernelOf& kernel_of, bool wide) {
  using numerics::Format;
  std::vector<float> all;
  for (const char* symbol : {"softcheck_softmax", "softcheck_log_softmax"}) {
    for (const std::vector<float>& row : rows_to_round()) {
      const std::vector<std::int64_t> shape{1, static_cast<std::int64_t>(row.size())};
      std::vector<std::uint16_t> halves;
      for (const float x : row) halves.push_back(static_cast<std::uint16_t>(numerics::encode(Format::f16, x)));
      F32 in(shape), out(shape);
      Tensor<std::uint16_t> narrow_in(f16, shape), narrow_out(f16, shape);
      in.set_row(0, row);
      narrow_in.set_row(0, halves);
      Call call(wide ? in.view : narrow_in.view, wide ? out.view : narrow_out.view);
      const softcheck_kernel kernel = kernel_of(symbol);
      if (kernel == nullptr || kernel(&call.call) != 0) return {};
      for (std::size_t i = 0; i < row.size(); ++i) {
        const std::uint64_t bits = wide ? numerics::encode(Format::f16, out.elements[i]) : narrow_out.elements[i];
        all.push_back(static_cast<float>(numerics::decode(Format::f16, bits)));
      }
    }
  }
  return all;
}

TEST(CpuKernels, EveryInstructionSetRoundsHalvesToEven) {
  for (const char* instruction_set : {"any", "avx2", "ssse3"}) {
    const auto results = [&](bool wide) {
      return results_up_to(instruction_set,
                           [&](const KernelOf& kernel_of) { return of_rounded_rows(kernel_of, wide); });
    };
    const std::vector<float> rounded = results(true);
    EXPECT_GT(rounded.size(), 40000u) << instruction_set;
    EXPECT_TRUE(same_bits(results(false), rounded)) << instruction_set;
    EXPECT_EQ(*std::min_element(rounded.begin(), rounded.end()), -std::numeric_limits<float>::infinity());
    EXPECT_GT(std::count_if(rounded.begin(), rounded.end(), [](float x) { return x > 0 && x < 0x1p-14f; }), 100);
  }
}

// The strict kernels beside what they share with the emulated ones: the same bits on any number of threads, and a NaN
// is met by whatever vector it stands in.

/// Results of a call with 1, 2, 3 and 8 threads; long enough for threads to meet on a busy machine.
template <class Run>
void expect_the_same_bits(const std::string& op, Run run) {
  const softcheck_kernel kernel = load_kernel("softcheck_strict_kernels", "softcheck_strict_" + op);
  ASSERT_NE(kernel, nullptr) << op;
  const std::vector<float> once = run(kernel);
  ASSERT_FALSE(once.empty()) << op;
  on_threads({"1", "2", "3", "8"}, [&] { EXPECT_TRUE(same_bits(run(kernel), once)) << op; });
}

TEST(StrictThreads, RowsHaveTheSameBits) {
  for (const std::string op :
       {"softmax", "log_softmax", "logsumexp", "entropy", "varentropy", "row_statistics", "adaptive_softmax"}) {
    expect_the_same_bits(op, [&](softcheck_kernel kernel) -> std::vector<float> {
      F32 in({900, 1000});
      fill_unevenly(in);
      F32 out(op.ends_with("softmax") ? in.shape : std::vector<std::int64_t>{900});
      Call call(in.view, out.view);
      return kernel(&call.call) == 0 ? out.elements : std::vector<float>{};
    });
  }
}

TEST(StrictThreads, AttentionHasTheSameBits) {
  for (const std::string op : {"attention", "adaptive_attention"}) {
    expect_the_same_bits(op, [](softcheck_kernel kernel) -> std::vector<float> {
      F32 q({1, 3, 100, 16}), k({1, 3, 2000, 16}), out(q.shape);
      q.set(uneven_row<float>(q.elements.size(), 1));
      k.set(uneven_row<float>(k.elements.size(), 2));
      const bool taken = takes_call(kernel, {&q.view, &k.view, &k.view}, {&out.view}, 0x1p-8);
      return taken ? out.elements : std::vector<float>{};
    });
  }
}

TEST(StrictAttentionNan, AKeyIsMetWhereverItStands) {
  const std::int64_t queries = 2, keys = 300, dim = 4;
  for (const std::string op : {"attention", "adaptive_attention"}) {
    const softcheck_kernel kernel = load_kernel("softcheck_strict_kernels", "softcheck_strict_" + op);
    ASSERT_NE(kernel, nullptr) << op;
    for (std::int64_t place = 0; place < keys; place += 13) {
      F32 q({1, 1, queries, dim}, {}, 0, 0.5f), k({1, 1, keys, dim}, {}, 0, 0.25f), v(k.shape);
      F32 out(q.shape), lse({1, 1, queries}), entropy(lse);
      k.elements[static_cast<std::size_t>(place * dim + 1)] = std::numeric_limits<float>::quiet_NaN();
      ASSERT_TRUE(takes_call(kernel, {&q.view, &k.view, &v.view}, {&out.view, &lse.view, &entropy.view})) << op;
      for (const float x : {out.elements[0], out.elements[7], lse.elements[1], entropy.elements[1]}) {
        EXPECT_TRUE(std::isnan(x)) << op << " key " << place;
      }
    }
  }
}

using numerics::Format;

// The formats of 8 bits in our CPU kernels: every number read, and written from the middle of every two. The judge
// judges the rest.

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
  for (const Format format : {Format::e4m3, Format::e5m2}) {
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
  for (const Format format : {Format::e4m3, Format::e5m2}) {
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
