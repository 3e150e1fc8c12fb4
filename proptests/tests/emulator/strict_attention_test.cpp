// The strict mode: the CPU's attention kernels of kernels/strict, forward, by parts of the keys and backward, have the
// bits of the emulated ones, on every instruction set (the suite runs again with SOFTCHECK_MAX_ISA).
#include <sstream>
#include <string>

#include "proptests/tests/emulator/strict_attention_problem.hpp"

namespace softcheck::emulator_tests {
namespace {

template <class Element>
class StrictAttention : public testing::Test {
 protected:
  using Problem = AttentionProblem<Element>;

  static std::string text(const std::string& op, const Shape& shape, Values kind, bool masked, bool causal) {
    std::ostringstream all;
    all << op << ", values of kind " << static_cast<int>(kind) << ", " << shape.queries << " queries, " << shape.keys
        << " keys, dim " << shape.dim << ", " << shape.value_dim << ", masked " << masked << ", causal " << causal;
    return all.str();
  }
  static void expect_same(const Shape& shape, Values kind, bool masked, bool causal, const std::string& prefix = "") {
    Problem problem(shape, kind);
    for (const char* name : {"attention", "adaptive_attention"}) {
      const std::string op = prefix + name;
      EXPECT_TRUE(kernel_tests::same_bits(problem.results("emulated", op, masked, causal),
                                          problem.results("strict", op, masked, causal)))
          << text(op, shape, kind, masked, causal);
    }
    if (prefix.empty()) {
      EXPECT_TRUE(kernel_tests::same_bits(problem.statistics("emulated", masked, causal),
                                          problem.statistics("strict", masked, causal)))
          << text("attention_statistics", shape, kind, masked, causal);
    }
  }
  static void expect_same_gradients(const Shape& shape, Values kind, bool masked, bool causal) {
    Problem problem(shape, kind);
    for (const char* op : {"attention_backward", "adaptive_attention_backward"}) {
      EXPECT_TRUE(kernel_tests::same_bits(problem.gradients("emulated", op, masked, causal),
                                          problem.gradients("strict", op, masked, causal)))
          << text(op, shape, kind, masked, causal);
    }
  }
};
TYPED_TEST_SUITE(StrictAttention, StrictElements);

// Labelled full: StrictAttention*
// Halves are f32 between conversions, which StrictFormats compares: every run tries their heads and their orders of
// sums.
//
// Labelled deep: StrictAttention/2.*InEveryCall:StrictAttention/3.*InEveryCall
//
// Labelled deep: StrictAttention/2.*ForEveryNumberOfKeys:StrictAttention/3.*ForEveryNumberOfKeys
TYPED_TEST(StrictAttention, HasTheBitsOfTheEmulatedOneForEveryNumberOfKeys) {
  for (const std::int64_t keys : {0, 1, 2, 3, 5, 127, 128, 129, 300, 511, 513, 700}) {
    this->expect_same({1, 1, 1, 1, keys, 4, 3}, Values::ordinary, false, false);
    this->expect_same({1, 1, 1, 2, keys, 3, 5}, Values::sharp, keys > 0, false);
  }
}

TYPED_TEST(StrictAttention, HasTheBitsOfTheEmulatedOneInEveryCall) {
  for (const Values kind : all_values) {
    for (const bool masked : {false, true}) {
      for (const bool causal : {false, true}) this->expect_same({2, 2, 1, 19, 140, 5, 7}, kind, masked, causal);
    }
  }
}

TYPED_TEST(StrictAttention, HasTheBitsOfTheEmulatedOneForEveryHead) {
  for (const std::int64_t dim : {1, 17, 64, 128}) {
    this->expect_same({1, 4, 2, 2, 133, dim, 130 - dim / 2}, Values::ordinary, true, true);
  }
  this->expect_same({1, 1, 1, 1, 130, 2, 256}, Values::sharp, false, false);
  // More queries than keys: the first see none.
  this->expect_same({1, 1, 1, 9, 4, 3, 2}, Values::ordinary, false, true);
}

// Sums are compensated: their order shows where hardly anything is left of them. The threads' tree, the order of keys,
// parts, queries and of the heads of a group.
TYPED_TEST(StrictAttention, AddsInTheOrderOfTheEmulatedOne) {
  for (const std::int64_t keys : {127, 300, 700}) {
    for (const char* prefix : {"", "split_"})
      this->expect_same({1, 1, 1, 1, keys, 2, 5}, Values::cancelling, false, false, prefix);
    this->expect_same_gradients({1, 1, 1, 1, keys, 2, 5}, Values::cancelling, false, false);
  }
  this->expect_same_gradients({1, 4, 2, 23, 20, 3, 3}, Values::cancelling, false, false);
}

// Parts of 256 keys, one to three of them, and of more where there would be too many.
TYPED_TEST(StrictAttention, ByPartsHasTheBitsOfTheEmulatedOneForEveryNumberOfKeys) {
  for (const std::int64_t keys : {0, 1, 255, 256, 257, 700}) {
    this->expect_same({1, 1, 1, 1, keys, 4, 3}, Values::wide, false, false, "split_");
  }
  // So many that a thread of a block for all keys would have several groups: the statistics' tree is another one. Of
  // scores that give an entropy at which beta is not 1.
  this->expect_same({1, 1, 1, 6, 700, 30, 1}, Values::ordinary, false, false, "split_");
  this->expect_same({1, 1, 1, 1, 33000, 1, 2}, Values::sharp, true, false, "split_");
}

TYPED_TEST(StrictAttention, ByPartsHasTheBitsOfTheEmulatedOneInEveryCall) {
  for (const Values kind : all_values) {
    for (const bool masked : {false, true}) {
      // The diagonal ends within the first part, or within the last.
      this->expect_same({1, 1, 1, 3, 270, 2, 130}, kind, masked, true, "split_");
      this->expect_same({2, 2, 1, 2, 300, 5, 7}, kind, masked, false, "split_");
    }
  }
  this->expect_same({1, 1, 1, 300, 290, 1, 1}, Values::sharp, false, true, "split_");
}

TYPED_TEST(StrictAttention, BackwardHasTheBitsOfTheEmulatedOneForEveryNumberOfKeys) {
  for (const std::int64_t keys : {0, 1, 2, 3, 127, 128, 129, 300, 513}) {
    this->expect_same_gradients({1, 1, 1, 1, keys, 4, 3}, Values::wide, false, false);
    this->expect_same_gradients({1, 1, 1, 2, keys, 3, 5}, Values::sharp, keys > 0, false);
  }
}

// More than a tile of queries, more than a tile and a block of keys; and the other way round.
TYPED_TEST(StrictAttention, BackwardHasTheBitsOfTheEmulatedOneInEveryCall) {
  for (const Values kind : all_values) {
    for (const bool masked : {false, true}) {
      this->expect_same_gradients({1, 2, 1, 17, 130, 3, 2}, kind, masked, kind == Values::wide || !masked);
    }
  }
  for (const bool causal : {false, true})
    this->expect_same_gradients({2, 2, 1, 130, 5, 2, 3}, Values::wide, true, causal);
}

TYPED_TEST(StrictAttention, BackwardHasTheBitsOfTheEmulatedOneForEveryHead) {
  for (const std::int64_t dim : {1, 17, 64, 128}) {
    this->expect_same_gradients({1, 4, 2, 2, 20, dim, 130 - dim / 2}, Values::wide, true, true);
  }
  this->expect_same_gradients({1, 1, 1, 2, 20, 256, 200}, Values::sharp, false, false);
}

// As many of dq, dk and dv as are asked for: those that are not stay as they were.
TYPED_TEST(StrictAttention, BackwardGivesWhatIsAskedFor) {
  AttentionProblem<TypeParam> problem({1, 2, 1, 3, 20, 4, 3}, Values::ordinary);
  for (const std::size_t count : {1, 2}) {
    EXPECT_TRUE(kernel_tests::same_bits(problem.gradients("emulated", "attention_backward", true, false, count),
                                        problem.gradients("strict", "attention_backward", true, false, count)));
  }
}

}  // namespace
}  // namespace softcheck::emulator_tests
