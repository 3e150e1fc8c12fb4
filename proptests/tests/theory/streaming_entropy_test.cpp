#include "theory/streaming_entropy.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "proptests/tests/theory/hard_rows.hpp"

namespace softcheck::theory {
namespace {

using numerics::Enclosure;
using numerics::Format;
using numerics::Verdict;

constexpr double masked = -std::numeric_limits<double>::infinity();

void expect_streamed(const std::vector<numerics::Certificate>& certificates) {
  for (const auto& certificate : certificates) {
    EXPECT_EQ(certificate.verdict, Verdict::proved) << certificate.claim << " " << certificate.witness;
  }
}

TEST(StreamingEntropy, EveryHardRowIsDecided) {
  for (const auto& [logits, theta] : hard_rows()) {
    if (theta != 1) continue;
    const MergePlan plan = MergePlan::chunks_of(2, logits.size());
    expect_streamed(certify_recurrence(logits));
    expect_streamed(certify_monoid(logits));
    expect_streamed(certify_every_tree(logits, plan));
    expect_streamed(certify_streaming_rounding(logits, plan, Format::f64));
  }
}

// glibc's manual lists 1 ulp for exp and log1p of float and double on x86_64, which is 2 u; of the logarithm 2 ulp are
// granted.
TEST(StreamingEntropy, TheContractGrantsWhatTheCLibraryPromises) {
  for (const Format format : {Format::f64, Format::f32, Format::bf16}) {
    const numerics::Contract contract = streaming_contract(format);
    EXPECT_EQ(contract.exp_error, 2);
    EXPECT_EQ(contract.log_error, 4);
    EXPECT_EQ(contract.input, format);
    EXPECT_EQ(contract.accumulator, format == Format::f64 ? Format::f64 : Format::f32);
    EXPECT_EQ(contract.output, contract.accumulator);
    EXPECT_EQ(contract.subnormals, numerics::Subnormals::kept);
  }
  EXPECT_THROW(streaming_contract(Format::f16), std::invalid_argument);
}

TEST(StreamingEntropy, WitnessesShowTheFirstEightLevels) {
  std::vector<double> row;
  for (int k = 0; k < 8; ++k) row.push_back(8 - k);
  const std::string eight =
      "0x1p+3 x1, 0x1.cp+2 x1, 0x1.8p+2 x1, 0x1.4p+2 x1, 0x1p+2 x1, 0x1.8p+1 x1, 0x1p+1 x1, 0x1p+0 x1";
  EXPECT_EQ(witness_text(LevelRow(row), 1), "n=8 theta=0x1p+0 [" + eight + "]");
  row.push_back(0);
  EXPECT_EQ(witness_text(LevelRow(row), 1), "n=9 theta=0x1p+0 [" + eight + ", ...]");
  EXPECT_EQ(witness_text(LevelRow(std::vector<double>{1, 1}), 2), "n=2 theta=0x1p+1 [0x1p+0 x2]");
}

TEST(StreamingEntropy, MaskedBlocksAreTheIdentity) {
  const std::vector<double> row{masked, masked, masked, 1, 2, masked, masked, masked};
  const auto state = streamed_state<double>(row, MergePlan::chunks_of(3, row.size()));
  const auto two_items = streamed_state<double>(std::vector<double>{1, 2}, MergePlan::chunks_of(1, 2));
  EXPECT_EQ(state.maximum, two_items.maximum);
  EXPECT_EQ(state.others, two_items.others);
  EXPECT_EQ(state.moment, two_items.moment);
  EXPECT_THROW(entropy(EntropyState<double, double>{}), std::invalid_argument);
}

TEST(StreamingEntropy, MergingCommutesBitForBit) {
  const auto a = push(entropy_state<float>(1.25F), 0.1F), b = push(entropy_state<float>(1.25F), -3.7F);
  const auto c = push(entropy_state<float>(-2.5F), 7.75F);
  for (const auto& [x, y] : {std::pair(a, b), std::pair(a, c), std::pair(b, c)}) {
    const auto left = merge(x, y), right = merge(y, x);
    EXPECT_EQ(left.others, right.others);
    EXPECT_EQ(left.moment, right.moment);
  }
}

TEST(StreamingEntropy, TinyEntropiesKeepTheirRelativeAccuracy) {
  // e^-60 is far below the unit roundoff of float: S rounds to 1, S - 1 does not.
  const auto state = push(entropy_state<float>(60.0F), 0.0F);
  EXPECT_EQ(state.others + 1.0F, 1.0F);
  EXPECT_GT(entropy(state), 0.0F);
}

TEST(StreamingEntropy, DistancesBeyondTheFormatWeighNothing) {
  const std::vector<double> row{-0x1.fffffep127, 0x1.fffffep127};
  EXPECT_EQ(entropy(streamed_state<float>(row, MergePlan::chunks_of(1, 2))), 0.0F);
  EXPECT_EQ(entropy_two_pass<float>(std::span<const double>(row)), 0.0F);
}

TEST(StreamingEntropy, PlansAreChecked) {
  EXPECT_THROW((MergePlan{{0, 1}, {}}.require_valid(2)), std::invalid_argument);
  EXPECT_THROW((MergePlan{{0, 1, 2}, {}}.require_valid(2)), std::invalid_argument);
  EXPECT_THROW((MergePlan{{0, 1, 2}, {{1, 0}}}.require_valid(2)), std::invalid_argument);
  EXPECT_THROW((MergePlan{{0, 1, 2, 3}, {{1, 2}, {2, 1}}}.require_valid(3)), std::invalid_argument);
  EXPECT_NO_THROW((MergePlan{{0, 1, 1, 3}, {{1, 2}, {0, 1}}}.require_valid(3)));
}

TEST(StreamingEntropy, RescalingsAreThoseOfTheLongestPath) {
  const std::vector<double> ramp{1, 2, 3, 4};
  EXPECT_EQ(plan_rescalings(ramp, MergePlan::chunks_of(4, 4)), 3U);
  EXPECT_EQ(plan_rescalings(ramp, MergePlan::chunks_of(2, 4)), 2U);
  EXPECT_EQ(plan_rescalings(std::vector<double>{4, 3, 2, 1}, MergePlan::chunks_of(4, 4)), 0U);
}

TEST(StreamingEntropy, RoundingIsJudgedInThreeFormatsOnly) {
  const std::vector<double> row{0, 1};
  EXPECT_THROW(certify_streaming_rounding(row, MergePlan::chunks_of(1, 2), Format::f16), std::invalid_argument);
  EXPECT_THROW(certify_streaming_rounding(std::vector<double>{0.1}, MergePlan::chunks_of(1, 1), Format::f32),
               std::invalid_argument);
  const auto not_finite = certify_entropy_within(row, std::nan(""), 1, Format::f32);
  EXPECT_EQ(not_finite.verdict, Verdict::violated);
}

}  // namespace
}  // namespace softcheck::theory
