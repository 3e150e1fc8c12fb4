// A kernel author's test suite: three lines a kernel.
#include <gtest/gtest.h>

#include <cmath>
#include <span>

#include "judge/conformance.hpp"

namespace {

float maximum_of(std::span<const float> logits) {
  float maximum = -INFINITY;
  for (const float x : logits) maximum = std::isnan(x) || x > maximum ? x : maximum;
  return maximum;
}

void exponentials_over_their_sum(std::span<const float> logits, float maximum, double theta, std::span<float> results) {
  const float scale = static_cast<float>(1 / theta);
  float sum = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) sum += results[i] = std::exp((logits[i] - maximum) * scale);
  for (float& result : results) result /= sum;
}

void softmax(std::span<const float> logits, double theta, std::span<float> results) {
  exponentials_over_their_sum(logits, maximum_of(logits), theta, results);
}

void softmax_without_maximum(std::span<const float> logits, double theta, std::span<float> results) {
  exponentials_over_their_sum(logits, 0, theta, results);
}

void softmax_that_crashes(std::span<const float>, std::span<float>) { __builtin_trap(); }

TEST(Softmax, Conforms) {
  EXPECT_TRUE(softcheck::conforms(softmax, "softmax f32 acc=f32 exp=1ulp sum=sequential masked=nan"));
}

TEST(SoftmaxWithoutMaximum, Conforms) {
  EXPECT_TRUE(softcheck::conforms(softmax_without_maximum, "softmax f32 acc=f32 exp=1ulp sum=sequential masked=nan"));
}

TEST(SoftmaxThatCrashes, Conforms) { EXPECT_TRUE(softcheck::conforms(softmax_that_crashes, "softmax f32")); }

}  // namespace
