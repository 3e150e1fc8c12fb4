// Gradients by the tree kernels: the same bits in every layout, those of the strict kernels, for tensors of any
// strides.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <span>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/block/tree_rows.hpp"
#include "proptests/tests/emulator/tree_problem.hpp"

namespace softcheck::emulator_tests {
namespace {

/// Runs softcheck_LIBRARY_OP by version 2 of a call.
void run_version_2(const std::string& library, const std::string& op, softcheck_op number,
                   const std::vector<const DLTensor*>& inputs, const std::vector<std::uint32_t>& roles,
                   DLTensor* output) {
  softcheck_attributes attributes{};
  attributes.size = sizeof attributes;
  const softcheck_call_2 call = version_2_call(number, inputs, roles.data(), attributes, {&output, 1});
  const softcheck_kernel kernel =
      kernel_tests::load_kernel("softcheck_" + library + "_kernels", "softcheck_" + library + "_" + op);
  ASSERT_NE(kernel, nullptr) << op;
  ASSERT_EQ(kernel(&call.call), 0) << library << ' ' << op;
}

/// y, of a softmax or its logarithm, and g, of sizes far apart, so that a sum shows the order of its additions.
template <class Element>
struct SavedProblem {
  using Bits = typename Format<Element>::Bits;

  SavedProblem(std::int64_t r, std::int64_t n, bool logarithms, bool strided)
      : rows(r),
        columns(n),
        y(Format<Element>::type, {r, n},
          strided ? std::vector<std::int64_t>{2 * n + 3, 2} : std::vector<std::int64_t>{}, strided ? 5 : 0),
        g(Format<Element>::type, {r, n}, strided ? std::vector<std::int64_t>{n + 1, 1} : std::vector<std::int64_t>{},
          strided ? 3 : 0) {
    std::mt19937 random(static_cast<unsigned>(n));
    std::normal_distribution<double> logit(0, 2);
    for (std::int64_t i = 0; i < r * n; ++i) {
      const double log = logit(random) - std::log(static_cast<double>(n)) - 2;
      const double gradient = logit(random) * (random() % 5 == 0 ? 100 : 1);
      y.at(i / n, i % n) = rounded_to<Element>(logarithms ? log : std::exp(log));
      g.at(i / n, i % n) = rounded_to<Element>(gradient);
    }
  }

  std::vector<Bits> called(const std::string& library, const std::string& op, softcheck_op number) const {
    Tensor<Bits> out(Format<Element>::type, {rows, columns});
    run_version_2(library, op, number, {&y.view, &g.view}, {SOFTCHECK_ROLE_SAVED, SOFTCHECK_ROLE_OUT_GRADIENT},
                  &out.view);
    return out.elements;
  }
  /// Of a layout on the emulator; the tensors are compact.
  template <class Op, class Rows>
  std::vector<Bits> results(const TreeLaunch& layout) const {
    const auto elements = [](const Tensor<Bits>& tensor) {
      return std::span<const Element>(reinterpret_cast<const Element*>(tensor.elements.data()), tensor.elements.size());
    };
    std::vector<Bits> found(static_cast<std::size_t>(rows * columns));
    TreeArguments<Block, Element> all;
    all.logits = {{elements(y), columns, 1}, {}, false, rows, columns};
    all.gradient = {{elements(g), columns, 1}, {}, false, rows, columns};
    const std::span<Element> results(reinterpret_cast<Element*>(found.data()), found.size());
    all.results = {results, columns, 1};
    layout.template run<Op, Rows>(all, results);
    return found;
  }

  std::int64_t rows, columns;
  Tensor<Bits> y, g;
};

template <class Element>
class TreeGradients : public testing::Test {
 protected:
  template <class Op>
  static void expect_strict_bits(std::int64_t n, const std::string& op, bool all_schedules = false) {
    const auto number = static_cast<softcheck_op>(Op::number);
    const SavedProblem<Element> problem(n > 2000 ? 1 : 3, n, number == SOFTCHECK_OP_LOG_SOFTMAX_BACKWARD, false);
    const auto strict = problem.called("strict", op, number);
    constexpr int most = most_vectors<Op, Element>, of_warp = most * vector_items<Element> * warp_size;
    const auto expect = [&]<class Rows>(Rows, int warps, const char* layout, int blocks = 1) {
      EXPECT_TRUE(kernel_tests::same_bits(problem.template results<Op, Rows>({warps, blocks, all_schedules}), strict))
          << op << ", " << n << " columns: " << layout << ", " << blocks << " of " << warps;
    };
    if (n <= of_warp / most) expect(WarpRows<1>(), 2, "a warp, 1 vector");
    if (n <= of_warp) expect(WarpRows<most>(), 3, "a warp");
    for (const int warps : {1, 2, 8, 16}) {
      if (n <= warps * of_warp) expect(BlockRows<most, true>(), warps, "a block");
      if (warps <= 2) expect(BlockRows<most, false>(), warps, "part by part");
    }
    if (n < of_warp / 2) return;
    if (n <= 4 * of_warp) expect(ClusterRows<most>(), 1, "a cluster", 4);
    if (n <= 4 * of_warp) expect(GridRows<most, true>(), 2, "a grid", 2);
    expect(GridRows<most, false>(), 1, "a grid part by part", 2);
  }
};
using TreeGradientElements = testing::Types<float, Half, BFloat>;
TYPED_TEST_SUITE(TreeGradients, TreeGradientElements);

// Labelled full: TreeGradients*.HaveTheStrictBitsInEveryLayout
TYPED_TEST(TreeGradients, HaveTheStrictBitsInEveryLayout) {
  for (const std::int64_t n : {1, 7, 128, 500, 512, 1000, 1025, 4100, 8192}) {
    this->template expect_strict_bits<tree::SoftmaxBackwardKernel>(n, "softmax_backward");
    this->template expect_strict_bits<tree::LogSoftmaxBackwardKernel>(n, "log_softmax_backward");
  }
}

TYPED_TEST(TreeGradients, AreCleanUnderEverySchedule) {
  this->template expect_strict_bits<tree::SoftmaxBackwardKernel>(600, "softmax_backward", true);
}

TYPED_TEST(TreeGradients, HaveTheStrictBitsInEveryCall) {
  for (const std::int64_t n : {0, 1, 5, 130, 700, 1030, 9000, 17000}) {
    for (const bool strided : {false, true}) {
      if (strided && n > 2000) continue;
      for (const softcheck_op number : {SOFTCHECK_OP_SOFTMAX_BACKWARD, SOFTCHECK_OP_LOG_SOFTMAX_BACKWARD}) {
        const bool logarithms = number == SOFTCHECK_OP_LOG_SOFTMAX_BACKWARD;
        const std::string op = logarithms ? "log_softmax_backward" : "softmax_backward";
        const SavedProblem<TypeParam> problem(2, n, logarithms, strided);
        EXPECT_TRUE(
            kernel_tests::same_bits(problem.called("emulated", op, number), problem.called("strict", op, number)))
            << op << ", " << n << " columns, strided " << strided;
      }
    }
  }
}

// The order of theory/proofs/strict_kernels/tree_order.v, as Coq prints it. Of units, a large number at i and its
// negative at j, the sum counts the items that are added behind the sum that first has both: the others are lost beside
// a large one.
TYPED_TEST(TreeGradients, AddInTheOrderOfTheTheorem) {
  constexpr bool is_half = std::is_same_v<TypeParam, Half>;
  constexpr double unit = is_half ? 0x1p-24 : 1, large = is_half ? 0x1p15 : 0x1p50;
  struct Pair {
    std::int64_t i, j, together;  // items of the first sum that has both
  };
  std::ifstream table(SOFTCHECK_SOURCE_DIR "/proptests/tests/emulator/tree_orders.tsv");
  std::string text;
  std::getline(table, text);  // the names
  int rows = 0;
  for (std::int64_t vector, n, levels; table >> vector >> n >> levels && std::getline(table, text);) {
    if (1 << vector != vector_items<TypeParam>) continue;
    ++rows;
    std::istringstream words(text);
    const std::vector<int> order(std::istream_iterator<int>(words), {});
    std::vector<Pair> pairs;
    for (const std::int64_t i : {std::int64_t{0}, n / 3, n - 1}) {
      std::int64_t decided = 0;
      for (const int bit : order) {  // the last addition's first
        std::int64_t together = 0;
        for (std::int64_t k = 0; k < n; ++k) together += ((k ^ i) & decided) == 0 ? 1 : 0;
        if (const std::int64_t j = i ^ std::int64_t{1} << bit; j < n) pairs.push_back({i, j, together});
        decided |= std::int64_t{1} << bit;
      }
      if (i == 0) {
        EXPECT_EQ(std::ssize(pairs), levels) << n;
      }
    }
    SavedProblem<TypeParam> problem(std::ssize(pairs), n, true, false);
    std::fill(problem.y.elements.begin(), problem.y.elements.end(), rounded_to<TypeParam>(0));
    std::fill(problem.g.elements.begin(), problem.g.elements.end(), rounded_to<TypeParam>(unit));
    for (std::int64_t row = 0; row < std::ssize(pairs); ++row) {
      problem.g.at(row, pairs[static_cast<std::size_t>(row)].i) = rounded_to<TypeParam>(large);
      problem.g.at(row, pairs[static_cast<std::size_t>(row)].j) = rounded_to<TypeParam>(-large);
    }
    for (const char* library : {"emulated", "strict"}) {
      const auto found = problem.called(library, "log_softmax_backward", SOFTCHECK_OP_LOG_SOFTMAX_BACKWARD);
      for (std::int64_t row = 0; row < std::ssize(pairs); ++row) {
        const auto [i, j, together] = pairs[static_cast<std::size_t>(row)];
        const std::int64_t other = i != 0 && j != 0 ? 0 : i != 1 && j != 1 ? 1 : 2;
        EXPECT_EQ(found[static_cast<std::size_t>(row * n + other)],
                  rounded_to<TypeParam>(unit * static_cast<double>(1 - (n - together))))
            << library << ", " << n << " items: " << i << " and " << j;
      }
    }
  }
  EXPECT_GT(rows, 40);
}

// Of y = -inf the gradient is g; a NaN makes its own item NaN and no other.
TYPED_TEST(TreeGradients, OfALogarithmDoNotSpreadWhatIsInY) {
  using Bits = typename Format<TypeParam>::Bits;
  SavedProblem<TypeParam> problem(1, 100, true, false);
  problem.y.at(0, 3) = rounded_to<TypeParam>(-INFINITY);
  problem.y.at(0, 98) = rounded_to<TypeParam>(NAN);
  for (const char* library : {"emulated", "strict"}) {
    const std::vector<Bits> found = problem.called(library, "log_softmax_backward", SOFTCHECK_OP_LOG_SOFTMAX_BACKWARD);
    EXPECT_EQ(found[3], problem.g.elements[3]);
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(std::isnan(widened(std::bit_cast<TypeParam>(found[i]))), i == 98) << library << ' ' << i;
    }
  }
}

}  // namespace
}  // namespace softcheck::emulator_tests
