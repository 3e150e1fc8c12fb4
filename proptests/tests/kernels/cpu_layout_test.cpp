#include <gtest/gtest.h>

#include <cfenv>
#include <functional>

#include "proptests/tests/kernels/loaded_kernel.hpp"

namespace softcheck::kernel_tests {
namespace {

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
