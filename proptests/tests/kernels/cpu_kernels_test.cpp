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

TEST(CpuKernels, AnInfiniteLogitHasNoSoftmax) {
  for (const std::size_t n : telling_sizes()) {
    for (const std::size_t place : {std::size_t{0}, n / 2, n - 1}) {
      std::vector<float> logits = uneven_row<float>(n);
      logits[place] = infinity;
      for (const std::string& symbol : cpu_symbols()) {
        for (const float y : run_row(symbol, dtype_of<float>(), logits)) {
          ASSERT_TRUE(symbol == "softcheck_logsumexp" ? y == infinity : std::isnan(y))
              << symbol << " n = " << n << " at " << place;
        }
      }
    }
  }
}

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
