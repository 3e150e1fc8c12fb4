// Cross-entropy and its gradient by the tree kernels: the same bits in every layout, those of the strict kernels.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "kernels/block/tree_rows.hpp"
#include "proptests/tests/emulator/tree_problem.hpp"

namespace softcheck::emulator_tests {
namespace {

constexpr std::int64_t ignored = -100;

/// What a call may have beside logits and labels.
struct LossCall {
  double smoothing = 0, z_loss = 0;
  bool gradient = false, strided = false, wide = false, in_place = false;
};

/// Rows whose labels are the first class, the last, one that is ignored, some class, none (n, and -1 in a row of its
/// own), and so on. An ignored row has a NaN, another one a logit of -inf.
template <class Element>
struct LossProblem {
  using Bits = typename Format<Element>::Bits;

  LossProblem(std::int64_t r, std::int64_t n) : rows(r), columns(n) {
    std::mt19937 random(static_cast<unsigned>(n));
    std::normal_distribution<double> logit(0, 4);
    for (std::int64_t i = 0; i < r * n; ++i) logits.push_back(logit(random));
    for (std::int64_t row = 0; row < r; ++row) {
      const std::int64_t any = n == 0 ? 0 : static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
      labels.push_back(std::vector<std::int64_t>{any, n - 1, ignored, 0, n, -1}[static_cast<std::size_t>(row % 6)]);
      upstream.push_back(row % 2 == 0 ? 0.75 : -3);
    }
    if (r > 2 && n > 0) logits[static_cast<std::size_t>(2 * n)] = std::numeric_limits<double>::quiet_NaN();
    if (r > 3 && n > 1) logits[static_cast<std::size_t>(3 * n + 1)] = -std::numeric_limits<double>::infinity();
  }

  /// The results as numbers; nothing if the kernel refuses the call.
  std::vector<float> called(const std::string& library, const LossCall& asked) const {
    const auto steps = [&](std::int64_t a, std::int64_t b) {
      return asked.strided ? std::vector<std::int64_t>{a, b} : std::vector<std::int64_t>{};
    };
    Tensor<Bits> x(Format<Element>::type, {rows, columns}, steps(2 * columns + 3, 2), asked.strided ? 5 : 0);
    Tensor<std::int64_t> wide({kDLInt, 64, 1}, {rows},
                              asked.strided ? std::vector<std::int64_t>{3} : std::vector<std::int64_t>{});
    Tensor<std::int32_t> narrow({kDLInt, 32, 1}, {rows});
    Tensor<Bits> g(Format<Element>::type, {rows});
    Tensor<float> wide_g({kDLFloat, 32, 1}, {rows});
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto i = static_cast<std::size_t>(row);
      for (std::int64_t j = 0; j < columns; ++j) {
        x.at(row, j) = rounded_to<Element>(logits[static_cast<std::size_t>(row * columns + j)]);
      }
      wide.at(row) = labels[i];
      narrow.at(row) = static_cast<std::int32_t>(labels[i]);
      g.at(row) = rounded_to<Element>(upstream[i]);
      wide_g.at(row) = static_cast<float>(upstream[i]);
    }
    Tensor<Bits> y(Format<Element>::type, asked.gradient ? std::vector{rows, columns} : std::vector{rows});
    Tensor<float> wide_y({kDLFloat, 32, 1}, {rows});
    softcheck_attributes attributes{};
    attributes.size = sizeof attributes;
    attributes.label_smoothing = asked.smoothing;
    attributes.z_loss = asked.z_loss;
    attributes.ignore_index = ignored;
    std::vector<const DLTensor*> inputs = {&x.view, asked.strided ? &wide.view : &narrow.view};
    std::vector<std::uint32_t> roles = {SOFTCHECK_ROLE_LOGITS, SOFTCHECK_ROLE_LABELS};
    if (asked.gradient) {
      inputs.push_back(asked.wide ? &wide_g.view : &g.view);
      roles.push_back(SOFTCHECK_ROLE_UPSTREAM);
    }
    DLTensor* output = asked.in_place ? &x.view : !asked.gradient && asked.wide ? &wide_y.view : &y.view;
    const std::string op = asked.gradient ? "cross_entropy_backward" : "cross_entropy";
    const softcheck_call_2 call =
        version_2_call(asked.gradient ? SOFTCHECK_OP_CROSS_ENTROPY_BACKWARD : SOFTCHECK_OP_CROSS_ENTROPY, inputs,
                       roles.data(), attributes, {&output, 1});
    const softcheck_kernel kernel =
        kernel_tests::load_kernel("softcheck_" + library + "_kernels", "softcheck_" + library + "_" + op);
    if (kernel == nullptr || kernel(&call.call) != 0) return {};
    std::vector<float> found;
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t j = 0; j < (asked.gradient ? columns : 1); ++j) {
        const float value = output == &wide_y.view
                                ? wide_y.at(row)
                                : widened(std::bit_cast<Element>((asked.in_place ? x : y).at(row, j)));
        found.push_back(std::isnan(value) ? std::numeric_limits<float>::quiet_NaN() : value);
      }
    }
    return found;
  }

  std::int64_t rows, columns;
  std::vector<double> logits, upstream;
  std::vector<std::int64_t> labels;
};

constexpr LossCall loss_calls[] = {{0, 0, false}, {0.1, 1e-3, false}, {0, 0, true}, {0.1, 1e-3, true}};

template <class Element>
class TreeLosses : public testing::Test {};
using TreeLossElements = testing::Types<float, Half, BFloat>;
TYPED_TEST_SUITE(TreeLosses, TreeLossElements);

// Labelled full: TreeLosses*.HaveTheStrictBitsInEveryLayout
TYPED_TEST(TreeLosses, HaveTheStrictBitsInEveryLayout) {
  for (const std::int64_t n : {1, 7, 128, 500, 512, 1000, 1025, 2056, 4100, 16384, 17000, 40000}) {
    const LossProblem<TypeParam> problem(n > 5000 ? 2 : 6, n);
    for (const LossCall& asked : loss_calls) {
      const std::vector<float> strict = problem.called("strict", asked);
      int taken = 0;
      for (const char* layout : {"held:1", "held:2", "held:4", "held:8", "held:16", "parts:2", "parts:4", "parts:16",
                                 "cluster:4", "grid:2"}) {
        const NamedLayout named(layout);
        const std::vector<float> found = problem.called("emulated", asked);
        if (found.empty()) continue;
        ++taken;
        EXPECT_TRUE(kernel_tests::same_bits(found, strict))
            << layout << ", " << n << " columns, gradient " << asked.gradient << ", smoothing " << asked.smoothing;
      }
      EXPECT_GE(taken, 3) << n;
    }
  }
}

TYPED_TEST(TreeLosses, HaveTheStrictBitsInEveryCall) {
  for (const std::int64_t n : {0, 1, 5, 130, 1030}) {
    const LossProblem<TypeParam> problem(6, n);
    for (LossCall asked : loss_calls) {
      for (const bool strided : {false, true}) {
        for (const bool wide : {false, true}) {
          asked.strided = strided;
          asked.wide = wide;
          const std::vector<float> strict = problem.called("strict", asked);
          EXPECT_EQ(strict.size(), static_cast<std::size_t>(asked.gradient ? 6 * n : 6));
          EXPECT_TRUE(kernel_tests::same_bits(problem.called("emulated", asked), strict))
              << n << ' ' << strided << wide;
          if (!asked.gradient) continue;
          asked.in_place = true;
          EXPECT_TRUE(kernel_tests::same_bits(problem.called("emulated", asked), strict)) << n << " in place";
          EXPECT_TRUE(kernel_tests::same_bits(problem.called("strict", asked), strict)) << n << " in place";
          asked.in_place = false;
        }
      }
    }
  }
}

TYPED_TEST(TreeLosses, ComeInPlaceInPartsToo) {
  const LossProblem<TypeParam> problem(2, 17000);
  LossCall asked{0.1, 0, true};
  const std::vector<float> strict = problem.called("strict", asked);
  asked.in_place = true;
  for (const char* layout : {"parts:2", "cluster:4", "grid:2"}) {
    const NamedLayout named(layout);
    EXPECT_TRUE(kernel_tests::same_bits(problem.called("emulated", asked), strict)) << layout;
  }
}

// An ignored row is 0 whatever is in it; a label that is no class makes its row NaN.
TYPED_TEST(TreeLosses, OfNoClassAreZeroOrNaN) {
  const std::int64_t n = 70;
  const LossProblem<TypeParam> problem(6, n);
  for (const char* library : {"emulated", "strict"}) {
    for (const LossCall& asked : loss_calls) {
      const std::vector<float> found = problem.called(library, asked);
      const std::int64_t width = asked.gradient ? n : 1;
      for (std::int64_t i = 0; i < 6 * width; ++i) {
        const float value = found[static_cast<std::size_t>(i)];
        const std::int64_t row = i / width;
        EXPECT_EQ(std::isnan(value), row >= 4) << library << ' ' << row;
        if (row == 2) {
          EXPECT_EQ(value, 0) << library;
        }
      }
    }
  }
}

TYPED_TEST(TreeLosses, AreCleanUnderEverySchedule) {
  constexpr int most = 32 / vector_items<TypeParam>;
  constexpr std::int64_t rows = 3, n = 2000;
  std::vector<TypeParam> logits, gradient(rows * n);
  for (std::int64_t i = 0; i < rows * n; ++i) {
    logits.push_back(std::bit_cast<TypeParam>(rounded_to<TypeParam>(std::sin(static_cast<double>(i)))));
  }
  const std::vector<std::int32_t> labels = {1999, ignored, 3};
  const std::vector<TypeParam> upstream(rows, std::bit_cast<TypeParam>(rounded_to<TypeParam>(2)));
  std::vector<TypeParam> losses(rows);
  TreeArguments<Block, TypeParam> all;
  all.logits = {{std::span<const TypeParam>(logits), n, 1}, {}, false, rows, n};
  all.gradient.values = {std::span<const TypeParam>(upstream), 1, 1};
  all.loss.attributes = {0.1, 0.1 / n, 1e-3, ignored};
  all.loss.labels = {std::span<const std::int32_t>(labels), 1, 1};
  const auto expect_clean = [&]<class Op, class Rows>(Op, Rows, std::vector<TypeParam>& results, int warps,
                                                      int blocks = 1) {
    all.results = {std::span<TypeParam>(results), static_cast<std::int64_t>(results.size()) / rows, 1};
    TreeLaunch{warps, blocks, true}.template run<Op, Rows>(all, std::span<TypeParam>(results));
  };
  expect_clean(tree::CrossEntropyKernel(), BlockRows<most, true>(), losses, 2);
  expect_clean(tree::CrossEntropyKernel(), BlockRows<most, false>(), losses, 1);
  expect_clean(tree::CrossEntropyKernel(), ClusterRows<most>(), losses, 1, 2);
  expect_clean(tree::CrossEntropyKernel(), GridRows<most, false>(), losses, 1, 1);
  expect_clean(tree::CrossEntropyBackwardKernel(), GridRows<most, true>(), gradient, 1, 2);
  expect_clean(tree::CrossEntropyBackwardKernel(), BlockRows<most, true>(), gradient, 2);
  all.logits.values = {std::span<const TypeParam>(gradient), n, 1};  // in place, of the last results
  expect_clean(tree::CrossEntropyBackwardKernel(), BlockRows<most, false>(), gradient, 1);
}

}  // namespace
}  // namespace softcheck::emulator_tests
