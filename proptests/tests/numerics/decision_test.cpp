#include "numerics/enclosures/decision.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace softcheck::numerics {
namespace {

TEST(Decision, AnswersFollowTheEndpoints) {
  const Enclosure low = Enclosure::between(1, 2), touching = Enclosure::between(2, 3), high = Enclosure::between(4, 5);
  EXPECT_EQ(less_equal(low, high), Decision::proved);
  EXPECT_EQ(less_equal(high, low), Decision::violated);
  EXPECT_EQ(less_equal(low, touching), Decision::proved);
  EXPECT_EQ(less_equal(touching, low), Decision::undecided);
  EXPECT_EQ(less(low, high), Decision::proved);
  EXPECT_EQ(less(low, touching), Decision::undecided);
  EXPECT_EQ(less(touching, low), Decision::violated);
  EXPECT_EQ(equal(low, high), Decision::violated);
  EXPECT_EQ(equal(low, low), Decision::undecided);  // one interval need not be one number
  EXPECT_EQ(equal(Enclosure(2), Enclosure(2)), Decision::proved);
}

TEST(Decision, TiesOfPointsAreDecided) {
  EXPECT_EQ(less_equal(Enclosure(1), Enclosure(1)), Decision::proved);
  EXPECT_EQ(less(Enclosure(1), Enclosure(1)), Decision::violated);
  EXPECT_EQ(less_equal(Enclosure(0), Enclosure(-0.0)), Decision::proved);
}

TEST(Decision, WhatIsNotANumberDecidesNothing) {
  const Enclosure bad = log(Enclosure(-1));
  for (const Enclosure& other : {Enclosure(1), bad}) {
    for (const auto decide : {less_equal, less, equal}) {
      EXPECT_EQ(decide(bad, other), Decision::undecided);
      EXPECT_EQ(decide(other, bad), Decision::undecided);
    }
  }
  EXPECT_EQ(less_equal(Enclosure(1), Enclosure(1) / Enclosure::between(-1, 1)), Decision::undecided);
}

// Whatever a and b decide must hold for every pair of numbers in them.
TEST(Decision, NoAnswerIsContradictedByAMember) {
  const std::vector<double> ends{-2, -1, -0.5, 0, 0.5, 1, 2};
  for (const double a0 : ends) {
    for (const double a1 : ends) {
      for (const double b0 : ends) {
        for (const double b1 : ends) {
          if (a0 > a1 || b0 > b1) continue;
          const Enclosure a = Enclosure::between(a0, a1), b = Enclosure::between(b0, b1);
          const bool all_le = a1 <= b0, none_le = a0 > b1, all_lt = a1 < b0, none_lt = a0 >= b1;
          EXPECT_EQ(less_equal(a, b) == Decision::proved, all_le);
          EXPECT_EQ(less_equal(a, b) == Decision::violated, none_le);
          EXPECT_EQ(less(a, b) == Decision::proved, all_lt);
          EXPECT_EQ(less(a, b) == Decision::violated, none_lt);
          EXPECT_EQ(equal(a, b) == Decision::violated, a1 < b0 || b1 < a0);
        }
      }
    }
  }
}

TEST(Decision, EscalationStopsWhereItIsDecided) {
  std::vector<unsigned> tried;
  const Decision decision = escalate([&] {
    tried.push_back(working_precision());
    // e and its first 61 decimals: told apart by 256 bits, not by 113.
    const Enclosure cut = Enclosure::decimal("2.7182818284590452353602874713526624977572470936999595749669676");
    return less(cut, exp(Enclosure(1)));
  });
  EXPECT_EQ(decision, Decision::proved);
  EXPECT_EQ(tried, (std::vector<unsigned>{64, 113, 256}));
  tried.clear();
  EXPECT_EQ(escalate([&] {
              tried.push_back(working_precision());
              return less_equal(exp(Enclosure(1)), exp(Enclosure(1)));
            }),
            Decision::undecided);
  EXPECT_EQ(tried, std::vector<unsigned>(precision_ladder.begin(), precision_ladder.end()));
  EXPECT_EQ(working_precision(), 113u);
}

TEST(Decision, AllOfIsTheWorst) {
  using enum Decision;
  EXPECT_EQ(all_of({}), proved);
  EXPECT_EQ(all_of(std::vector{proved, proved}), proved);
  EXPECT_EQ(all_of(std::vector{proved, undecided}), undecided);
  EXPECT_EQ(all_of(std::vector{undecided, violated, proved}), violated);
}

}  // namespace
}  // namespace softcheck::numerics
