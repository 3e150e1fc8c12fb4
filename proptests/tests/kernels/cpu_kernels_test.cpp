#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>
#include <functional>
#include <limits>

#include "numerics/formats/format.hpp"
#include "proptests/tests/kernels/loaded_kernel.hpp"
#include "proptests/tests/kernels/version_2_call.hpp"

namespace softcheck::kernel_tests {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

TEST(CpuKernels, OneLogitIsCertain) {
  for_each_type<float, double>([]<class T> {
    for (const T x : {T(0), T(-3.5), T(1e30), std::numeric_limits<T>::lowest(), std::numeric_limits<T>::denorm_min()}) {
      EXPECT_EQ(run_row<T>("softcheck_softmax", dtype_of<T>(), {x})[0], T(1));
      EXPECT_EQ(run_row<T>("softcheck_adaptive_softmax", dtype_of<T>(), {x})[0], T(1));
      EXPECT_EQ(run_row<T>("softcheck_log_softmax", dtype_of<T>(), {x})[0], T(0));
      EXPECT_EQ(run_row<T>("softcheck_entropy", dtype_of<T>(), {x})[0], T(0));
      EXPECT_EQ(run_row<T>("softcheck_logsumexp", dtype_of<T>(), {x})[0], x);
    }
  });
}

TEST(CpuKernels, TiesOfAPowerOfTwoAreExactlyOneOverN) {
  for_each_type<float, double>([]<class T> {
    for (std::size_t n = 1; n <= (std::size_t{1} << 17); n *= 2) {
      const std::vector<T> logits(n, T(-7.25));
      for (const char* symbol : {"softcheck_softmax", "softcheck_adaptive_softmax"}) {
        EXPECT_TRUE(same_bits(run_row<T>(symbol, dtype_of<T>(), logits), std::vector<T>(n, T(1) / static_cast<T>(n))))
            << symbol << " n = " << n;
      }
    }
  });
}

TEST(CpuKernels, HalfPrecisionIsTheSinglePrecisionResultRounded) {
  using numerics::Format;
  for (const auto& [format, type] : {std::pair{Format::f16, f16}, std::pair{Format::bf16, bf16}}) {
    for (const std::size_t n : telling_sizes()) {
      std::vector<std::uint16_t> narrow;
      std::vector<float> wide;
      for (const float x : uneven_row<float>(n)) {
        narrow.push_back(static_cast<std::uint16_t>(numerics::encode(format, x)));
        wide.push_back(static_cast<float>(numerics::decode(format, narrow.back())));
      }
      for (const std::string& symbol : cpu_symbols()) {
        std::vector<std::uint16_t> rounded;
        for (const float y : run_row<float>(symbol, dtype_of<float>(), wide)) {
          rounded.push_back(static_cast<std::uint16_t>(numerics::encode(format, y)));
        }
        EXPECT_TRUE(same_bits(run_row<std::uint16_t>(symbol, type, narrow), rounded)) << symbol << " n = " << n;
      }
    }
  }
}

// 1/n in f32, for these n, lies exactly between two neighbours of the narrow format; the even one is once below, once
// above.
TEST(CpuKernels, HalfPrecisionTiesGoToEven) {
  using numerics::Format;
  struct Case {
    Format format;
    DLDataType type;
    std::size_t n;
  };
  for (const auto& [format, type, n] : {Case{Format::bf16, bf16, 253241}, Case{Format::bf16, bf16, 262657},
                                        Case{Format::f16, f16, 12153}, Case{Format::f16, f16, 8283}}) {
    const float wide = run_row<float>("softcheck_softmax", dtype_of<float>(), std::vector<float>(n, 0.0f)).back();
    const auto nearest = static_cast<std::uint16_t>(numerics::encode(format, wide));
    EXPECT_EQ(run_row<std::uint16_t>("softcheck_softmax", type, std::vector<std::uint16_t>(n, 0)).back(), nearest);
    // Written one by one, too, where they do not lie side by side.
    const auto columns = static_cast<std::int64_t>(n);
    Tensor<std::uint16_t> in(type, {1, columns}), apart(type, {1, columns}, {2 * columns, 2});
    Call call(in.view, apart.view);
    ASSERT_EQ(cpu_kernel("softcheck_softmax")(&call.call), 0);
    EXPECT_EQ(apart.at(0, columns - 1), nearest);
    EXPECT_EQ(run_row<std::uint16_t>("softcheck_adaptive_softmax", type, std::vector<std::uint16_t>(n, 0)).back(),
              nearest);
  }
}

// All 65,536 inputs through logsumexp, which returns its only logit, alone and beside a -inf that does not lie next to
// it: the two ways in which halves are read.
TEST(CpuKernels, EveryHalfPrecisionValueSurvivesAPassThrough) {
  using numerics::Format;
  for (const auto& [format, type] : {std::pair{Format::f16, f16}, std::pair{Format::bf16, bf16}}) {
    for (const std::int64_t columns : {1, 2}) {
      Tensor<std::uint16_t> in(type, {65536, columns}, {3 * columns, 2});
      Tensor<std::uint16_t> out(type, {65536});
      for (std::int64_t bits = 0; bits < 65536; ++bits) {
        in.at(bits, columns - 1) = static_cast<std::uint16_t>(numerics::encode(format, -infinity));
        in.at(bits, 0) = static_cast<std::uint16_t>(bits);
      }
      Call call(in.view, out.view);
      ASSERT_EQ(cpu_kernel("softcheck_logsumexp")(&call.call), 0);
      for (std::int64_t bits = 0; bits < 65536; ++bits) {
        const double x = numerics::decode(format, static_cast<std::uint64_t>(bits));
        const double y = numerics::decode(format, out.at(bits));
        ASSERT_TRUE(std::isnan(x) ? std::isnan(y) : x == y) << std::hex << bits;
      }
    }
  }
}

TEST(CpuKernels, MaskedMeansMinusInfinity) {
  for (const std::size_t n : telling_sizes()) {
    std::vector<float> masked = uneven_row<float>(n);
    std::vector<float> infinite = masked;
    std::vector<std::uint8_t> visible(n, 2);  // nonzero is visible, not only 1
    for (std::size_t i = 0; i < n; i += 3) {
      masked[i] = i % 2 == 0 ? nan : 1e30f;
      infinite[i] = -infinity;
      visible[i] = 0;
    }
    for (const std::string& symbol : cpu_symbols()) {
      EXPECT_TRUE(
          same_bits(run_row(symbol, dtype_of<float>(), masked, &visible), run_row(symbol, dtype_of<float>(), infinite)))
          << symbol << " n = " << n;
    }
  }
}

TEST(CpuKernels, MaskingTheEndIsDeletingIt) {
  for (const std::size_t n : telling_sizes()) {
    for (const std::size_t more : {std::size_t{1}, std::size_t{31}, std::size_t{900}}) {
      std::vector<float> longer = uneven_row<float>(n);
      longer.resize(n + more, 1e30f);
      std::vector<std::uint8_t> visible(n, 1);
      visible.resize(n + more, 0);
      for (const std::string& symbol : cpu_symbols()) {
        std::vector<float> kept = run_row(symbol, dtype_of<float>(), longer, &visible);
        kept.resize(std::min(kept.size(), n));
        EXPECT_TRUE(same_bits(kept, run_row(symbol, dtype_of<float>(), uneven_row<float>(n))))
            << symbol << " n = " << n << " + " << more;
      }
    }
  }
}

TEST(CpuKernels, FullyMaskedRowsFollowTheContract) {
  for (const std::size_t n : telling_sizes()) {
    const std::vector<float> logits(n, -infinity);
    for (const float p : run_row<float>("softcheck_softmax", dtype_of<float>(), logits)) {
      EXPECT_TRUE(std::isnan(p));
    }
    EXPECT_EQ(run_row<float>("softcheck_logsumexp", dtype_of<float>(), logits)[0], -infinity);
    EXPECT_TRUE(std::isnan(run_row<float>("softcheck_entropy", dtype_of<float>(), logits)[0]));
  }
}

/// Rows with +inf somewhere and bad at the beginning, in the middle or at the end.
void expect_no_softmax_with(float bad) {
  for (const std::size_t n : telling_sizes()) {
    for (const std::size_t place : {std::size_t{0}, n / 2, n - 1}) {
      std::vector<float> logits = uneven_row<float>(n);
      if (std::isnan(bad)) logits[n / 3] = infinity;
      logits[place] = bad;
      for (const std::string& symbol : cpu_symbols()) {
        for (const float y : run_row(symbol, dtype_of<float>(), logits)) {
          ASSERT_TRUE(symbol == "softcheck_logsumexp" && bad == infinity ? y == infinity : std::isnan(y))
              << symbol << " n = " << n << ", " << bad << " at " << place;
        }
      }
    }
  }
}

TEST(CpuKernels, AVisibleNanMakesTheRowNan) { expect_no_softmax_with(nan); }
TEST(CpuKernels, AnInfiniteLogitHasNoSoftmax) { expect_no_softmax_with(infinity); }

TEST(CpuKernels, EmptyRowsAndEmptyBatchesAreDefined) {
  for (const std::string& symbol : cpu_symbols()) {
    F32 in({3, 0}), out(result_shape(symbol, 3, 0), {}, 0, 5);
    in.view.data = nullptr;
    if (!has_row_output(symbol)) out.view.data = nullptr;
    Call call(in.view, out.view);
    ASSERT_EQ(cpu_kernel(symbol)(&call.call), 0) << symbol;
    if (has_row_output(symbol)) {
      const float result = out.row(2)[0];
      EXPECT_TRUE(symbol == "softcheck_logsumexp" ? result == -infinity : std::isnan(result)) << symbol << result;
    }
    F32 none({0, 4}), nothing(result_shape(symbol, 0, 4));
    none.view.data = nothing.view.data = nullptr;
    Call empty(none.view, nothing.view);
    EXPECT_EQ(cpu_kernel(symbol)(&empty.call), 0) << symbol;
  }
}

// Fig. 4: beta = 1 where the polynomial is below 1, that is below 0.8485 and above 5.9445 nats.
// kernels/README.md: an entropy is relatively accurate, however sharp its row. H = ln(1 + w) + w d / (1 + w) with w =
// e^-d. The computed w may err by 2 u + d u, T by three roundings more, and the output by one.
TEST(CpuKernels, TheEntropyOfASharpRowIsRelativelyAccurate) {
  constexpr double unit = 0x1p-24;
  for (const std::size_t n : {2, 3, 17}) {
    for (double d = 10; d <= 40; d += 0.25) {
      std::vector<float> logits(n, -infinity);
      logits[0] = static_cast<float>(-d);
      logits[n - 1] = 0;
      const double weight = std::exp(-d), exact = std::log1p(weight) + weight * d / (1 + weight);
      // Rows of a batch have a pass of their own.
      for (const std::int64_t rows : {1, 16}) {
        F32 in({rows, static_cast<std::int64_t>(n)}), out({rows});
        for (std::int64_t r = 0; r < rows; ++r) in.set_row(r, logits);
        run_call("softcheck_entropy", {&in.view}, {&out.view});
        EXPECT_LE(std::fabs(out.at(rows - 1) - exact), (d + 7) * unit * exact) << rows << " of " << n << " d = " << d;
      }
    }
  }
}

TEST(CpuKernels, AdaptiveTemperatureLeavesSharpAndDispersedRowsAlone) {
  std::vector<float> sharp(200, -12.0f);  // 199 e^-12 (1 + 12) nats, about 0.016
  sharp[77] = 0;
  const auto close = [](std::size_t n) {  // within half a nat of each other: more than ln n - 0.5 nats
    std::vector<float> row = uneven_row<float>(n);
    for (float& x : row) x /= 64;
    return row;
  };
  const auto left_alone = [](const std::vector<float>& row) {
    return same_bits(run_row("softcheck_adaptive_softmax", dtype_of<float>(), row),
                     run_row("softcheck_softmax", dtype_of<float>(), row));
  };
  EXPECT_FALSE(left_alone(uneven_row<float>(1792)));  // about ln(1792 / 32) + 1 nats, in whole blocks
  EXPECT_FALSE(left_alone(close(16)));
  for (const std::vector<float>& row : {sharp, close(4096), close(800)}) EXPECT_TRUE(left_alone(row)) << row.size();
}

template <class T>
void bits_depend_on_the_row_alone(std::size_t n) {
  const auto columns = static_cast<std::int64_t>(n);
  for (const std::string& symbol : cpu_symbols()) {
    const std::vector<T> alone = run_row(symbol, dtype_of<T>(), uneven_row<T>(n));
    for (const std::int64_t column_step : {std::int64_t{1}, std::int64_t{3}}) {
      const bool statistic = has_row_output(symbol);
      const std::int64_t row_step = columns * column_step + 5;
      const T gap = T(-77);
      Tensor<T> in(dtype_of<T>(), {5, columns}, {row_step, column_step}, 3, std::numeric_limits<T>::quiet_NaN());
      Tensor<T> out(dtype_of<T>(), result_shape(symbol, 5, columns),
                    statistic ? std::vector<std::int64_t>{7} : std::vector<std::int64_t>{row_step + 2, column_step}, 1,
                    gap);
      for (std::int64_t r = 0; r < 5; ++r) {
        in.set_row(r, uneven_row<T>(n, r == 3 ? 1u : static_cast<std::uint32_t>(r) + 10));
      }
      const std::vector<T> before = in.elements;
      Call call(in.view, out.view);
      ASSERT_EQ(cpu_kernel(symbol)(&call.call), 0);
      EXPECT_TRUE(same_bits(out.row(3), alone)) << symbol << " n = " << n << " step " << column_step;
      EXPECT_TRUE(same_bits(in.elements, before)) << symbol << " wrote its input";
      for (std::int64_t r = 0; r < 5; ++r) {
        out.set_row(r, std::vector<T>(out.row(r).size(), gap));
      }
      EXPECT_TRUE(same_bits(out.elements, std::vector<T>(out.elements.size(), gap))) << symbol << " wrote a gap";
    }
  }
}

TEST(CpuKernels, BitsDependOnTheRowAlone) {
  for (const std::size_t n : telling_sizes()) {
    bits_depend_on_the_row_alone<float>(n);
    bits_depend_on_the_row_alone<double>(n);
  }
}

TEST(CpuKernels, InPlaceGivesTheSameBits) {
  for (const std::size_t n : telling_sizes()) {
    for (const char* symbol : {"softcheck_softmax", "softcheck_log_softmax", "softcheck_adaptive_softmax"}) {
      F32 both({1, static_cast<std::int64_t>(n)});
      both.set_row(0, uneven_row<float>(n));
      Call call(both.view, both.view);
      ASSERT_EQ(cpu_kernel(symbol)(&call.call), 0);
      EXPECT_TRUE(same_bits(both.row(0), run_row(symbol, dtype_of<float>(), uneven_row<float>(n)))) << symbol;
    }
  }
}

// Every power of two is exact as 1 / theta, so that theta and a division of the logits give the same bits.
TEST(CpuKernels, ThetaOfAPowerOfTwoIsAScaledRow) {
  for (const double theta : {0.25, 2.0, 1024.0}) {
    std::vector<float> scaled = uneven_row<float>(1000);
    for (float& x : scaled) x /= static_cast<float>(theta);
    for (const char* symbol :
         {"softcheck_softmax", "softcheck_log_softmax", "softcheck_logsumexp", "softcheck_entropy"}) {
      EXPECT_TRUE(same_bits(run_row(symbol, dtype_of<float>(), uneven_row<float>(1000), nullptr, theta),
                            run_row(symbol, dtype_of<float>(), scaled)))
          << symbol << " theta " << theta;
    }
  }
}

// 1 / theta must be a normal number of the accumulator, f32 for f32 and f64 for f64: each kernel multiplies by it.
TEST(CpuKernels, AThetaWithoutAnInverseIsRefused) {
  const auto taken = [](double theta, bool wide) {
    F32 narrow_in({2, 4}), narrow_out({2, 4});
    Tensor<double> wide_in(dtype_of<double>(), {2, 4}), wide_out(dtype_of<double>(), {2, 4});
    Call call(wide ? wide_in.view : narrow_in.view, wide ? wide_out.view : narrow_out.view);
    call.call.theta = theta;
    return cpu_kernel("softcheck_softmax")(&call.call) == 0;
  };
  for (const double theta : {0x1p-127, 0x1p126}) EXPECT_TRUE(taken(theta, false)) << theta;
  for (const double theta : {0x1p-128, 0x1p127, 0x1p-200, 0x1p200}) {
    EXPECT_FALSE(taken(theta, false)) << theta;
    EXPECT_TRUE(taken(theta, true)) << theta;
  }
  EXPECT_FALSE(taken(0x1p-1024, true));
  EXPECT_FALSE(taken(0x1p1023, true));
  EXPECT_FALSE(taken(std::numeric_limits<double>::infinity(), true));
}

TEST(CpuKernels, TheRoundingModeIsLeftAsFound) {
  std::fesetround(FE_DOWNWARD);
  for (const std::string& symbol : cpu_symbols()) {
    run_row(symbol, dtype_of<float>(), uneven_row<float>(100));
    EXPECT_EQ(std::fegetround(), FE_DOWNWARD) << symbol;
  }
  std::fesetround(FE_TONEAREST);
}

TEST(CpuKernels, WhatIsNotSupportedIsRefused) {
  struct Refused {
    const char* what;
    std::function<void(Call&, Tensor<float>& in, Tensor<float>& out)> spoil;
  };
  static std::int64_t backwards[2] = {4, -1};
  const std::vector<Refused> cases = {
      {"version 0", [](Call& c, auto&, auto&) { c.call.abi_version = 0; }},
      {"version 2", [](Call& c, auto&, auto&) { c.call.abi_version = 2; }},
      {"no output", [](Call& c, auto&, auto&) { c.call.n_outputs = 0; }},
      {"three inputs", [](Call& c, auto&, auto&) { c.call.n_inputs = 3; }},
      {"theta 0", [](Call& c, auto&, auto&) { c.call.theta = 0; }},
      {"theta NaN", [](Call& c, auto&, auto&) { c.call.theta = std::numeric_limits<double>::quiet_NaN(); }},
      {"an attention scale", [](Call& c, auto&, auto&) { c.call.scale = 0.5; }},
      {"causal", [](Call& c, auto&, auto&) { c.call.causal = 1; }},
      {"integer logits", [](Call&, auto& in, auto&) { in.view.dtype.code = kDLInt; }},
      {"f8 logits", [](Call&, auto& in, auto&) { in.view.dtype.bits = 8; }},
      {"two lanes", [](Call&, auto& in, auto&) { in.view.dtype.lanes = 2; }},
      {"a device tensor", [](Call&, auto& in, auto&) { in.view.device.device_type = kDLCUDA; }},
      {"rank 1", [](Call&, auto& in, auto&) { in.view.ndim = 1; }},
      {"a negative stride", [](Call&, auto& in, auto&) { in.view.strides = backwards; }},
      {"another output type", [](Call&, auto&, auto& out) { out.view.dtype.bits = 64; }},
      {"another output shape", [](Call&, auto&, auto& out) { out.shape[0] = 3; }},
      {"a mask of floats",
       [](Call& c, auto& in, auto&) {
         c.inputs[1] = &in.view;
         c.call.n_inputs = 2;
       }},
  };
  for (const std::string& symbol : cpu_symbols()) {
    for (const Refused& refused : cases) {
      F32 in({2, 4}), out(result_shape(symbol, 2, 4));
      Call call(in.view, out.view);
      ASSERT_EQ(cpu_kernel(symbol)(&call.call), 0);
      refused.spoil(call, in, out);
      EXPECT_NE(cpu_kernel(symbol)(&call.call), 0) << symbol << ": " << refused.what;
    }
  }
}

}  // namespace
}  // namespace softcheck::kernel_tests
