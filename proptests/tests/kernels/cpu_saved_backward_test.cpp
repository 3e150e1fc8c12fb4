// The gradients of softmax and log-softmax from saved outputs, where the exact result is a number of the format. The
// judge judges the rest.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "proptests/tests/kernels/version_2_call.hpp"

namespace softcheck::kernel_tests {
namespace {

enum class Output { apart, saved, gradient, strided };

template <class Bits>
std::vector<Bits> gradient_of(softcheck_op op, const std::vector<double>& y, const std::vector<double>& g,
                              Output where = Output::apart) {
  const auto n = static_cast<std::int64_t>(y.size());
  Tensor<Bits> saved(Stored<Bits>::type, {1, n}), gradient(Stored<Bits>::type, {1, n});
  saved.set(stored<Bits>(y));
  gradient.set(stored<Bits>(g));
  const std::int64_t step = where == Output::strided ? 3 : 1;
  Tensor<Bits> apart(Stored<Bits>::type, {1, n}, {n * step, step});
  Tensor<Bits>& out = where == Output::saved ? saved : where == Output::gradient ? gradient : apart;
  EXPECT_TRUE(Call2(op, {&saved.view, &gradient.view}, saved_roles(), out.view).run());
  return out.row(0);
}

constexpr Output everywhere[] = {Output::apart, Output::saved, Output::gradient, Output::strided};

// Multiples of 1/8 and small integers: every sum is exact.
TEST(CpuSavedBackward, GradientsAreExactWhereSumsAre) {
  for_each_type<float, double>([]<class Bits> {
    for (const std::size_t n : telling_sizes()) {
      std::vector<double> y(n), logs(n), g(n);
      double mean = 0, total = 0;
      for (std::size_t i = 0; i < n; ++i) {
        y[i] = static_cast<double>((i + 1) % 4) / 8;
        logs[i] = i % 3 == 0 ? 0 : -std::numeric_limits<double>::infinity();
        g[i] = static_cast<double>(i % 7) - 2;
        mean += y[i] * g[i];
        total += g[i];
      }
      std::vector<Bits> of_softmax, of_logs;
      for (std::size_t i = 0; i < n; ++i) {
        of_softmax.push_back(Stored<Bits>::of(y[i] * (g[i] - mean)));
        of_logs.push_back(Stored<Bits>::of(g[i] - (i % 3 == 0 ? total : 0)));
      }
      for (const Output where : everywhere) {
        const auto got = gradient_of<Bits>(SOFTCHECK_OP_SOFTMAX_BACKWARD, y, g, where);
        for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(got[i], of_softmax[i]) << n << " item " << i;
        EXPECT_TRUE(same_bits(gradient_of<Bits>(SOFTCHECK_OP_LOG_SOFTMAX_BACKWARD, logs, g, where), of_logs)) << n;
      }
    }
  });
}

// Whatever is saved: this is no log-probability.
TEST(CpuSavedBackward, ExponentialsBeyondThePassAreThoseOfTheLibrary) {
  const auto narrow = gradient_of<float>(SOFTCHECK_OP_LOG_SOFTMAX_BACKWARD, {80, 0}, {1, 0});
  EXPECT_TRUE(same_bits(narrow, {1 - std::exp(80.0F), -1.0F}));
  const auto wide = gradient_of<double>(SOFTCHECK_OP_LOG_SOFTMAX_BACKWARD, {700, 0}, {1, 0});
  EXPECT_TRUE(same_bits(wide, {1 - std::exp(700.0), -1.0}));
}

TEST(CpuSavedBackward, ANanReachesItsRow) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  for (const std::size_t n : {1, 33, 897, 5000}) {
    for (const std::size_t place : {std::size_t{0}, n / 2, n - 1}) {
      std::vector<double> with(n, 0.0), without(n, 0.0);
      with[place] = nan;
      for (const softcheck_op op : {SOFTCHECK_OP_SOFTMAX_BACKWARD, SOFTCHECK_OP_LOG_SOFTMAX_BACKWARD}) {
        for (const float x : gradient_of<float>(op, without, with)) ASSERT_TRUE(std::isnan(x)) << n;
        ASSERT_TRUE(std::isnan(gradient_of<float>(op, with, without)[place])) << n;
      }
    }
  }
}

TEST(CpuSavedBackward, WhatIsNotSupportedIsRefused) {
  F32 y({2, 3}), g({2, 3}), out({2, 3}), longer({2, 4}), rows({2});
  Tensor<double> wide(dtype_of<double>(), {2, 3});
  const auto takes = [&](const DLTensor& gradient, DLTensor& to, std::vector<std::uint32_t> roles = saved_roles()) {
    return Call2(SOFTCHECK_OP_SOFTMAX_BACKWARD, {&y.view, &gradient}, std::move(roles), to).run();
  };
  EXPECT_TRUE(takes(g.view, out.view));
  EXPECT_FALSE(takes(g.view, out.view, {SOFTCHECK_ROLE_OUT_GRADIENT, SOFTCHECK_ROLE_SAVED}));
  EXPECT_FALSE(takes(longer.view, out.view));
  EXPECT_FALSE(takes(wide.view, out.view));
  EXPECT_FALSE(takes(rows.view, out.view));
  EXPECT_FALSE(takes(g.view, longer.view));
  EXPECT_FALSE(takes(g.view, wide.view));
}

}  // namespace
}  // namespace softcheck::kernel_tests
