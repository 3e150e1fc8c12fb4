// The k largest coefficients of a softmax: which items, in what order, and weights where the exact ones are numbers of
// the format. The judge judges the rest.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "proptests/tests/kernels/version_2_call.hpp"

namespace softcheck::kernel_tests {
namespace {

constexpr DLDataType id_type = {kDLInt, 32, 1};

template <class T>
struct Choice {
  std::vector<T> weights;
  std::vector<std::int32_t> ids;
};

template <class T>
Choice<T> choice_of(const std::vector<T>& x, std::int64_t k, bool renormalize, std::int64_t step = 1) {
  const auto n = static_cast<std::int64_t>(x.size());
  Tensor<T> logits(dtype_of<T>(), {1, n}, {n * step, step}), weights(dtype_of<T>(), {1, k}, {k * step, step});
  Tensor<std::int32_t> ids(id_type, {1, k}, {k * step, step}, 0, -7);
  logits.set_row(0, x);
  Call2 call(SOFTCHECK_OP_TOPK_SOFTMAX, {&logits.view}, {SOFTCHECK_ROLE_LOGITS}, weights.view);
  call.outputs.push_back(&ids.view);
  call.attributes.k = static_cast<std::int32_t>(k);
  call.attributes.renormalize = renormalize ? 1 : 0;
  EXPECT_TRUE(call.run());
  return {weights.row(0), ids.row(0)};
}

// The largest first, of equal ones that of the lowest index.
template <class T>
std::vector<std::int32_t> first_items(const std::vector<T>& x, std::int64_t k) {
  std::vector<std::int32_t> order(x.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return x[static_cast<std::size_t>(a)] > x[static_cast<std::size_t>(b)];
  });
  order.resize(static_cast<std::size_t>(k));
  return order;
}

TEST(CpuTopk, TheItemsAreTheLargestTheLowestIndexFirst) {
  for_each_type<float, double>([]<class T> {
    for (const std::size_t n : telling_sizes()) {
      std::vector<T> mixed(n), rising(n), levels(n);
      for (std::size_t i = 0; i < n; ++i) {
        mixed[i] = static_cast<T>((i * 7919) % 1009) / 64;
        rising[i] = static_cast<T>(i) / 512;
        levels[i] = static_cast<T>(i % 3);
      }
      for (const std::vector<T>& x : {mixed, rising, levels}) {
        for (const std::size_t k : {std::size_t{1}, std::size_t{2}, std::size_t{8}, n / 2, n}) {
          if (k == 0 || k > n) continue;
          for (const std::int64_t step : {1, 3}) {
            const Choice<T> got = choice_of(x, static_cast<std::int64_t>(k), false, step);
            ASSERT_EQ(got.ids, first_items(x, static_cast<std::int64_t>(k))) << n << " " << k;
            ASSERT_TRUE(std::is_sorted(got.weights.rbegin(), got.weights.rend()));
          }
        }
      }
    }
  });
}

TEST(CpuTopk, WeightsOfTiesAreExact) {
  for (const std::size_t n : {1, 2, 16, 64, 1024, 4096}) {
    const auto k = static_cast<std::int64_t>(std::min<std::size_t>(n, 4));
    for (const float x : choice_of(std::vector<float>(n, 3), k, false).weights) {
      EXPECT_EQ(x, 1 / static_cast<float>(n));
    }
    for (const double x : choice_of(std::vector<double>(n, -700), k, true).weights) {
      EXPECT_EQ(x, 1 / static_cast<double>(k));
    }
  }
}

TEST(CpuTopk, ItemsOfMinusInfinityComeLastAndWeighNothing) {
  constexpr float none = -std::numeric_limits<float>::infinity();
  for (const bool renormalize : {false, true}) {
    const Choice<float> got = choice_of<float>({none, 2, none, 2}, 3, renormalize);
    EXPECT_EQ(got.ids, (std::vector<std::int32_t>{1, 3, 0}));
    EXPECT_EQ(got.weights, (std::vector<float>{0.5, 0.5, 0}));
    EXPECT_FALSE(std::signbit(got.weights[2]));
  }
}

TEST(CpuTopk, ARowWithoutASoftmaxHasItemsAndWeightsOfNan) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  for (const float special : {nan, infinity}) {
    for (const std::size_t n : {3, 33, 897, 5000}) {
      std::vector<float> x(n, 0);
      x[n / 2] = special;
      const Choice<float> got = choice_of(x, 3, true);
      for (const float weight : got.weights) ASSERT_TRUE(std::isnan(weight)) << n;
      EXPECT_EQ(got.ids, (std::vector<std::int32_t>{0, 1, 2}));
    }
  }
  EXPECT_TRUE(std::isnan(choice_of(std::vector<float>(5, -infinity), 2, false).weights[1]));
}

TEST(CpuTopk, WhatIsNotSupportedIsRefused) {
  F32 logits({2, 3}), weights({2, 2}), more({2, 4});
  Tensor<std::int32_t> ids(id_type, {2, 2}), of_four(id_type, {2, 4}), of_one(id_type, {1, 2});
  Tensor<std::int64_t> wide({kDLInt, 64, 1}, {2, 2});
  const auto takes = [&](DLTensor& first, DLTensor* second, std::int32_t k) {
    Call2 call(SOFTCHECK_OP_TOPK_SOFTMAX, {&logits.view}, {SOFTCHECK_ROLE_LOGITS}, first);
    if (second != nullptr) call.outputs.push_back(second);
    call.attributes.k = k;
    return call.run();
  };
  EXPECT_TRUE(takes(weights.view, &ids.view, 2));
  EXPECT_FALSE(takes(weights.view, &ids.view, 1));
  EXPECT_FALSE(takes(weights.view, &ids.view, -1));
  EXPECT_FALSE(takes(more.view, &of_four.view, 4));
  EXPECT_FALSE(takes(weights.view, &of_one.view, 2));
  EXPECT_FALSE(takes(weights.view, &wide.view, 2));
  EXPECT_FALSE(takes(weights.view, &weights.view, 2));
  EXPECT_FALSE(takes(weights.view, nullptr, 2));
}

}  // namespace
}  // namespace softcheck::kernel_tests
