// The k largest coefficients of a softmax: which items, in what order, and weights where the exact ones are numbers of
// the format. The judge judges the rest.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
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

// Merges of partial results, where the exact result is a number of the format, and what a row's bits depend on. The
// judge judges the rest.
constexpr double none = -std::numeric_limits<double>::infinity();

/// Parts of rows: (parts, rows, dim) outputs and (parts, rows) log-sum-exps, every element so many places apart.
template <class Bits, class Lse = float>
struct Merge {
  Merge(std::int64_t parts, std::int64_t rows, std::int64_t dim, std::int64_t step = 1)
      : outputs(Stored<Bits>::type, {parts, rows, dim}, {rows * dim * step, dim * step, step}, 0, Bits(1)),
        lse(dtype_of<Lse>(), {parts, rows}, {step, parts * step}, 0, Lse(0)),
        merged(Stored<Bits>::type, {rows, dim}, {dim * step, step}, 0, Bits(7)),
        merged_lse(dtype_of<Lse>(), {rows}, {step}, 0, Lse(7)) {}

  Bits& output(std::int64_t part, std::int64_t row, std::int64_t column) {
    const std::vector<std::int64_t>& by = outputs.strides;
    return outputs.elements[static_cast<std::size_t>(part * by[0] + row * by[1] + column * by[2])];
  }
  void fill(std::int64_t part, std::int64_t row, double value) {
    for (std::int64_t c = 0; c < outputs.shape[2]; ++c) output(part, row, c) = Stored<Bits>::of(value);
  }
  bool run(bool base_2) {
    Call2 call(SOFTCHECK_OP_MERGE_STATES, {&outputs.view, &lse.view}, {SOFTCHECK_ROLE_OUT, SOFTCHECK_ROLE_LSE},
               merged.view);
    call.outputs.push_back(&merged_lse.view);
    call.attributes.lse_base2 = base_2 ? 1 : 0;
    return call.run();
  }
  void expect(bool base_2, std::int64_t row, double value, double log) {
    ASSERT_TRUE(run(base_2));
    for (const Bits got : merged.row(row)) ASSERT_EQ(got, Stored<Bits>::of(value)) << outputs.shape[0];
    EXPECT_EQ(merged_lse.at(row), static_cast<Lse>(log)) << outputs.shape[0];
  }

  Tensor<Bits> outputs;
  Tensor<Lse> lse;
  Tensor<Bits> merged;
  Tensor<Lse> merged_lse;
};

// Weights 1, 1/2, 1/4, 1/4 again and again: S is twice their number, and no operation rounds.
TEST(CpuMerge, PowersOfTwoAreMergedExactly) {
  for_each_type<float, std::uint16_t>([]<class Bits> {
    static constexpr std::array<double, 4> logs{0, -1, -2, -2}, weights{1, 0.5, 0.25, 0.25};
    for (const std::int64_t groups : {1, 4, 32, 64, 128, 1024}) {
      for (const std::int64_t dim : {1, 5, 64, 67}) {
        for (const std::int64_t step : {1, 3}) {
          Merge<Bits> merge(4 * groups, 1, dim, step);
          double expected = 0;
          for (std::int64_t part = 0; part < 4 * groups; ++part) {
            const auto kind = static_cast<std::size_t>(part % 4);
            const auto value = static_cast<double>(part * 5 % 7);
            merge.lse.at(part, 0) = static_cast<float>(logs[kind] - 40);
            merge.fill(part, 0, value);
            expected += weights[kind] * value / static_cast<double>(2 * groups);
          }
          merge.expect(true, 0, expected, std::log2(static_cast<double>(2 * groups)) - 40);
        }
      }
    }
  });
}

TEST(CpuMerge, EqualPartsAreAveraged) {
  for (const std::int64_t parts : {1, 2, 4, 64, 128, 256, 4096}) {
    Merge<double, double> merge(parts, 2, 3);
    for (std::int64_t part = 0; part < parts; ++part) {
      merge.lse.at(part, 0) = merge.lse.at(part, 1) = -1.25;
      merge.fill(part, 1, part % 2 == 0 ? 1 : -3);
    }
    merge.expect(false, 1, parts == 1 ? 1 : -1, -1.25 + std::log1p(static_cast<double>(parts - 1)));
  }
}

// e^-100 is subnormal in f32, e^-200 is 0 there.
TEST(CpuMerge, WeightsAreKeptWhereTheyAreSubnormal) {
  for (const auto& [distance, weight] : {std::pair(100.0, std::exp(-100.0)), std::pair(200.0, 0.0)}) {
    Merge<float> merge(2, 1, 16);
    merge.fill(0, 0, 0);
    merge.fill(1, 0, 1);
    merge.lse.at(1, 0) = static_cast<float>(-distance);
    merge.expect(false, 0, weight, weight);  // ln(1 + w) is w
  }
}

template <class Bits>
std::vector<Bits> merged_row(Merge<Bits>& merge, std::int64_t row) {
  EXPECT_TRUE(merge.run(false));
  std::vector<Bits> bits = merge.merged.row(row);
  bits.push_back(static_cast<Bits>(merge.merged_lse.at(row)));
  return bits;
}

TEST(CpuMerge, AnEmptyPartIsNotThere) {
  constexpr std::int64_t parts = 300;
  const std::vector<float> drawn = uneven_row<float>(parts);
  std::vector<std::int64_t> seen;
  for (std::int64_t part = 0; part < parts; ++part) {
    if (part % 3 != 0) seen.push_back(part);
  }
  Merge<float> all(parts, 1, 20), some(static_cast<std::int64_t>(seen.size()), 1, 20);
  for (std::int64_t part = 0; part < parts; ++part) {
    all.lse.at(part, 0) = static_cast<float>(none);
    all.fill(part, 0, std::numeric_limits<double>::quiet_NaN());
  }
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const float x = drawn[static_cast<std::size_t>(seen[i])];
    all.lse.at(seen[i], 0) = some.lse.at(static_cast<std::int64_t>(i), 0) = x / 8;
    all.fill(seen[i], 0, x);
    some.fill(static_cast<std::int64_t>(i), 0, x);
  }
  EXPECT_TRUE(same_bits(merged_row(all, 0), merged_row(some, 0)));
}

TEST(CpuMerge, WithoutAPartTheOutputIsZero) {
  for (const std::int64_t parts : {0, 1, 3}) {
    Merge<float> merge(parts, 2, 19);
    for (std::int64_t part = 0; part < parts; ++part) {
      merge.lse.at(part, 1) = static_cast<float>(none);
      merge.fill(part, 1, std::numeric_limits<double>::quiet_NaN());
    }
    merge.expect(false, 1, 0, none);
    EXPECT_FALSE(std::signbit(merge.merged.at(1, 18)));
  }
}

TEST(CpuMerge, ANanReachesItsRowOrItsColumn) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  for (const float special : {nan, -nan, infinity}) {
    Merge<float> merge(3, 3, 18);
    merge.lse.at(1, 1) = special;
    merge.output(2, 2, 17) = nan;
    ASSERT_TRUE(merge.run(true));
    for (const float x : merge.merged.row(0)) EXPECT_EQ(x, 1);
    for (const float x : merge.merged.row(1)) EXPECT_TRUE(std::isnan(x));
    EXPECT_TRUE(std::isnan(merge.merged_lse.at(1)));
    EXPECT_FALSE(std::isnan(merge.merged_lse.at(2)));
    EXPECT_TRUE(std::isnan(merge.merged.at(2, 17)));
    EXPECT_EQ(merge.merged.at(2, 16), 1);
  }
}

TEST(CpuMerge, BitsDependOnTheRowAlone) {
  constexpr std::int64_t parts = 130, rows = 300, dim = 150;
  const std::vector<float> drawn = uneven_row<float>(parts * rows * dim);
  const auto draw = [&](Merge<float>& merge, std::int64_t row, std::int64_t of) {
    for (std::int64_t part = 0; part < parts; ++part) {
      const auto first = static_cast<std::size_t>((part * rows + of) * dim);
      merge.lse.at(part, row) = drawn[first] / 4;
      for (std::int64_t c = 0; c < dim; ++c) merge.output(part, row, c) = drawn[first + static_cast<std::size_t>(c)];
    }
  };
  Merge<float> all(parts, rows, dim);
  for (std::int64_t row = 0; row < rows; ++row) draw(all, row, row);
  const std::vector<float> sample = merged_row(all, 7);
  on_threads({"3"}, [&] { EXPECT_TRUE(same_bits(merged_row(all, 7), sample)); });
  for (const std::int64_t row : {std::int64_t{0}, std::int64_t{7}, rows - 1}) {
    for (const std::int64_t step : {1, 2}) {
      Merge<float> one(parts, 1, dim, step);
      draw(one, 0, row);
      EXPECT_TRUE(same_bits(merged_row(one, 0), merged_row(all, row))) << row << " by " << step;
    }
  }
}

TEST(CpuMerge, WhatIsNotSupportedIsRefused) {
  F32 outputs({2, 3, 4}), lse({2, 3}), out({3, 4}), log({3}), narrow({3, 3}), fewer({1, 3}), short_log({2}),
      flat({6, 4});
  Tensor<double> wide(dtype_of<double>(), {2, 3});
  const auto takes = [&](DLTensor& first, DLTensor& second, DLTensor& to, DLTensor* to_lse,
                         std::uint32_t role = SOFTCHECK_ROLE_LSE) {
    Call2 call(SOFTCHECK_OP_MERGE_STATES, {&first, &second}, {SOFTCHECK_ROLE_OUT, role}, to);
    if (to_lse != nullptr) call.outputs.push_back(to_lse);
    return call.run();
  };
  EXPECT_TRUE(takes(outputs.view, lse.view, out.view, &log.view));
  EXPECT_FALSE(takes(flat.view, lse.view, out.view, &log.view));
  EXPECT_FALSE(takes(outputs.view, fewer.view, out.view, &log.view));
  EXPECT_FALSE(takes(outputs.view, wide.view, out.view, &log.view));
  EXPECT_FALSE(takes(outputs.view, lse.view, narrow.view, &log.view));
  EXPECT_FALSE(takes(outputs.view, lse.view, out.view, &short_log.view));
  EXPECT_FALSE(takes(outputs.view, lse.view, out.view, nullptr));
  EXPECT_FALSE(takes(outputs.view, lse.view, out.view, &log.view, SOFTCHECK_ROLE_LOGITS));
}

}  // namespace
}  // namespace softcheck::kernel_tests
