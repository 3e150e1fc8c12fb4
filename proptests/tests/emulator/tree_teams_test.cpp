// Rows that several blocks hold, of a cluster or of a grid: the strict kernels' bits.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "proptests/tests/emulator/tree_problem.hpp"

namespace softcheck::emulator_tests {
namespace {

template <class Element>
class RowsOfBlocks : public testing::Test {
 protected:
  static constexpr int most = 32 / vector_items<Element>, of_warp = 32 * warp_size;

  /// Of a cluster and a grid that hold the row, and of a grid that reads it part by part.
  template <class Op>
  static void expect_strict_bits(const TreeProblem<Element>& problem, const std::string& op, const TreeLaunch& layout) {
    const std::vector<Element> strict = problem.strict(op, Op::of_rows);
    const auto expect = [&]<class Rows>(Rows, const char* name) {
      EXPECT_TRUE(same(problem.template results<Op, Rows>(layout), strict))
          << op << ", " << problem.columns << " columns, masked " << problem.masked << ": " << name << ", "
          << layout.blocks << " blocks of " << layout.warps;
    };
    if (problem.columns <= layout.blocks * layout.warps * of_warp) {
      expect(ClusterRows<most>(), "a cluster");
      expect(GridRows<most, true>(), "a grid");
    }
    expect(GridRows<most, false>(), "a grid, part by part");
  }
  template <class Problem>
  static void expect_strict_bits_of_all(const Problem& problem, const TreeLaunch& layout) {
    expect_strict_bits<tree::SoftmaxKernel>(problem, "softmax", layout);
    expect_strict_bits<tree::LogSoftmaxKernel>(problem, "log_softmax", layout);
    expect_strict_bits<tree::LogsumexpKernel>(problem, "logsumexp", layout);
    expect_strict_bits<tree::EntropyKernel>(problem, "entropy", layout);
    expect_strict_bits<tree::AdaptiveSoftmaxKernel>(problem, "adaptive_softmax", layout);
  }
  /// Of ops with one barrier and with several between two rows.
  template <class Rows>
  static void expect_clean(int warps) {
    const TreeProblem<Element> problem(5, 2500, false, 1);
    const TreeLaunch layout{warps, 2, true};
    EXPECT_TRUE(same(problem.template results<tree::SoftmaxKernel, Rows>(layout), problem.strict("softmax", false)));
    EXPECT_TRUE(same(problem.template results<tree::AdaptiveSoftmaxKernel, Rows>(layout),
                     problem.strict("adaptive_softmax", false)));
  }
};
using ElementsOfBlocks = testing::Types<float, Half, BFloat>;
TYPED_TEST_SUITE(RowsOfBlocks, ElementsOfBlocks);

// Labelled full: RowsOfBlocks*.HaveTheStrictBits
TYPED_TEST(RowsOfBlocks, HaveTheStrictBits) {
  for (const std::int64_t n : {5, 1000, 2056, 5000, 20000}) {
    for (const bool masked : {false, true}) {
      const TreeProblem<TypeParam> problem(3, n, masked, static_cast<unsigned>(n));
      for (const int blocks : {2, 4, 8, 16}) {
        for (const int warps : {1, 4}) {
          if (n > 5000 && blocks > 4) continue;
          const TreeLaunch layout{warps, blocks};
          if (n <= 1000 || warps > 1) {
            this->template expect_strict_bits<tree::SoftmaxKernel>(problem, "softmax", layout);
          } else if (!masked || blocks == 4) {
            this->expect_strict_bits_of_all(problem, layout);
          }
        }
      }
    }
  }
}

// Each lane joins the numbers of several blocks.
TYPED_TEST(RowsOfBlocks, HaveTheStrictBitsOfManyBlocks) {
  for (const int blocks : {32, 64, 128}) {
    const TreeProblem<TypeParam> problem(2, blocks * 1024 - 700, false, 1);
    const TreeLaunch layout{1, blocks, false, 1};
    EXPECT_TRUE(same(problem.template results<tree::EntropyKernel, GridRows<TestFixture::most, true>>(layout),
                     problem.strict("entropy", true)))
        << blocks;
  }
}

TYPED_TEST(RowsOfBlocks, OfClustersAreCleanUnderEverySchedule) {
  this->template expect_clean<ClusterRows<TestFixture::most>>(2);
}

TYPED_TEST(RowsOfBlocks, OfGridsAreCleanUnderEverySchedule) {
  this->template expect_clean<GridRows<TestFixture::most, true>>(2);
  this->template expect_clean<GridRows<TestFixture::most, false>>(1);
}

// Labelled full: RowsOfBlocks*.AreALayoutOfTheKernel
TYPED_TEST(RowsOfBlocks, AreALayoutOfTheKernel) {
  const auto results = [](const char* library, const char* layout, std::int64_t n) {
    const NamedLayout named(layout);
    return TreeProblem<TypeParam>(3, n, false, 1).called(library, "softmax", false);
  };
  for (const std::int64_t n : {20000, 40000}) {
    const auto strict = results("strict", "default", n);
    for (const char* layout : {"cluster:4", "grid:2", "grid:4"}) {
      EXPECT_TRUE(same(results("emulated", layout, n), strict)) << layout;
    }
  }
  EXPECT_TRUE(same(results("emulated", "cluster:2", 20000), results("strict", "default", 20000)));
  EXPECT_TRUE(results("emulated", "cluster:2", 40000).empty());  // it holds 32,768
  EXPECT_TRUE(results("emulated", "grid:2", 10000).empty());     // a block holds the row
  for (const char* layout : {"grid:1", "grid:3", "cluster:16", "cluster:1"}) {
    EXPECT_TRUE(results("emulated", layout, 20000).empty()) << layout;
  }
}

}  // namespace
}  // namespace softcheck::emulator_tests
