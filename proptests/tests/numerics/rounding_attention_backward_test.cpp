// B17 against simulated kernels: no kernel that keeps its contract exceeds the bound, and each term that is left out is
// missed by one that does.

#include "numerics/rounding/rounding_attention_backward.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "proptests/tests/numerics/simulated_attention_backward.hpp"

namespace softcheck::numerics {
namespace {

using simulated_backward::BackwardCase;
using simulated_backward::judged;
using simulated_backward::Left;
using simulated_backward::Shares;

std::vector<BackwardCase> shapes() {
  return {{.spread = 1},
          {.spread = 20},
          {.queries = 1, .keys = 1},
          {.queries = 30, .keys = 7, .causal = true},
          {.queries = 5, .keys = 130},
          {.queries = 3, .keys = 20, .shift = 100.3},
          {.queries = 3, .keys = 20, .shift = 9000.7},
          {.gradient_shift = 1000},
          {.spread = 8, .values = 1e6}};
}

void expect_given(BackwardCase c, Shares& most) {
  for (const bool saved_lse : {true, false}) {
    for (const bool saved_out : {true, false}) {
      c.saved_lse = saved_lse;
      c.saved_out = saved_out;
      const Shares got = judged(c, nullptr);
      EXPECT_LE(got.largest(), 1) << c.queries << " x " << c.keys << " spread " << c.spread << " shift " << c.shift;
      most = {std::max(most.dq, got.dq), std::max(most.dk, got.dk), std::max(most.dv, got.dv),
              std::max(most.dsink, got.dsink)};
    }
  }
}

void report(const Shares& most) {
  testing::Test::RecordProperty("dq", std::to_string(most.dq));
  testing::Test::RecordProperty("dk", std::to_string(most.dk));
  testing::Test::RecordProperty("dv", std::to_string(most.dv));
  testing::Test::RecordProperty("dsink", std::to_string(most.dsink));
  EXPECT_GT(most.largest(), 0.02) << "a bound that nothing comes near";
}

TEST(RoundingAttentionBackward, HoldsInSinglePrecision) {
  Shares most;
  for (const BackwardCase& c : shapes()) expect_given(c, most);
  report(most);
}

TEST(RoundingAttentionBackward, HoldsWithNarrowWeightsGradientsAndResults) {
  Shares most;
  for (BackwardCase c : shapes()) {
    for (const Format format : {Format::bf16, Format::f16}) {
      if (format == Format::f16 && c.shift + c.values > 1000) continue;  // overflows there
      c.inputs = c.result = c.weights = c.score_gradients = c.out = format;
      expect_given(c, most);
    }
  }
  report(most);
}

TEST(RoundingAttentionBackward, HoldsWithAnOutputOfTheKernelsOwn) {
  Shares most;
  for (BackwardCase c : shapes()) {
    c.inputs = c.result = c.weights = c.score_gradients = c.out = Format::bf16;
    c.own_out = true;
    expect_given(c, most);
  }
  report(most);
}

TEST(RoundingAttentionBackward, HoldsWithALogSumExpSavedInSixteenBits) {
  Shares most;
  for (BackwardCase c : shapes()) {
    c.lse = Format::bf16;
    if (c.shift < 1000) expect_given(c, most);
  }
  report(most);
}

TEST(RoundingAttentionBackward, HoldsWithTheScalesRootInEachFactor) {
  Shares most;
  for (BackwardCase c : shapes()) {
    c.split = true;
    expect_given(c, most);
  }
  report(most);
}

TEST(RoundingAttentionBackward, HoldsUnderASoftcap) {
  Shares most;
  for (BackwardCase c : shapes()) {
    for (const float cap : {0.3F, 2.0F, 50.0F}) {
      c.softcap = cap;
      if (c.shift == 0) expect_given(c, most);
    }
  }
  report(most);
}

TEST(RoundingAttentionBackward, HoldsUnderASoftcapOfStoredScores) {
  Shares most;
  for (BackwardCase c : shapes()) {
    for (const float cap : {0.3F, 2.0F, 50.0F}) {
      for (const Format format : {Format::f16, Format::bf16}) {
        c.softcap = cap;
        c.scores = format;
        if (c.shift == 0) expect_given(c, most);
      }
    }
  }
  report(most);
}

TEST(RoundingAttentionBackward, HoldsThroughBaseTwo) {
  Shares most;
  for (BackwardCase c : shapes()) {
    c.base_two = true;
    expect_given(c, most);
  }
  report(most);
}

// Sinks below, among and above the scores.
void expect_given_with_sinks(BackwardCase c, Shares& most) {
  for (const float sink : {-3.0F, 0.7F, 12.0F}) {
    c.sink = static_cast<float>(2 * c.shift * 0.7) + sink;
    expect_given(c, most);
  }
}

TEST(RoundingAttentionBackward, HoldsBesideASink) {
  Shares most;
  for (BackwardCase c : shapes()) {
    expect_given_with_sinks(c, most);
    c.base_two = true;
    expect_given_with_sinks(c, most);
  }
  // Equal terms: each addition rounds as the ones before it.
  BackwardCase equal{.queries = 1000, .keys = 1, .spread = 0, .gradient_shift = 1000.3, .gradients = 0, .sink = -3.0F};
  expect_given(equal, most);
  report(most);
  EXPECT_GT(most.dsink, 0.1);
}

TEST(RoundingAttentionBackward, HoldsBesideASinkInSixteenBits) {
  Shares most;
  for (BackwardCase c : shapes()) {
    if (c.shift + c.values > 1000) continue;
    c.inputs = c.result = c.weights = c.score_gradients = c.out = Format::bf16;
    expect_given_with_sinks(c, most);
    c.own_out = true;
    expect_given_with_sinks(c, most);
  }
  // Columns that are all alike round alike: the weight, the output and p delta add up.
  BackwardCase alike{.queries = 1, .keys = 1, .spread = 0, .gradient_shift = 1, .gradients = 0, .values = 0};
  alike.inputs = alike.result = alike.weights = alike.score_gradients = alike.out = Format::bf16;
  alike.own_out = true;
  for (const double value : {1.0, 1.25, 1.625}) {
    alike.value_shift = value;
    for (int k = -40; k <= 40; ++k) {
      alike.sink = static_cast<float>(k) / 16;
      expect_given(alike, most);
    }
  }
  report(most);
  EXPECT_GT(most.dsink, 0.5);
}

// A loss on the log-sum-exp, too: its gradient beside g - delta, far above it, and met by it in each of four ways.
void expect_held_with_two_losses(Format format, Shares& most) {
  for (BackwardCase c :
       {BackwardCase{.spread = 1}, BackwardCase{.spread = 20}, BackwardCase{.queries = 1, .keys = 1},
        BackwardCase{.queries = 3, .keys = 20, .shift = 100.3}, BackwardCase{.gradient_shift = 1000}}) {
    c.inputs = c.result = c.weights = c.score_gradients = c.out = format;
    for (const float by_lse : {-1.7F, 1000.3F}) {
      c.lse_gradient = by_lse;
      for (c.grouping = 0; c.grouping < 4; ++c.grouping) {
        c.softcap = c.shift == 0 && c.grouping > 1 ? 2.0F : 0.0F;
        expect_given(c, most);
      }
    }
  }
}

TEST(RoundingAttentionBackward, HoldsWithAGradientByTheLogSumExp) {
  Shares most;
  expect_held_with_two_losses(Format::f32, most);
  report(most);
}

TEST(RoundingAttentionBackward, HoldsWithAGradientByTheLogSumExpInSixteenBits) {
  Shares most;
  expect_held_with_two_losses(Format::bf16, most);
  report(most);
}

// The planted bound is exceeded where the right one holds.
void expect_needs(const BackwardCase& c, const Left& left) {
  EXPECT_LE(judged(c, nullptr).largest(), 1);
  EXPECT_GT(judged(c, &left).largest(), 1);
}

void expect_sink_needs(const BackwardCase& c, const Left& left) {
  EXPECT_LE(judged(c, nullptr).largest(), 1);
  EXPECT_GT(judged(c, &left).dsink, 1);
}

TEST(PlantedAttentionBackwardBound, OfASinkWithoutTheErrorOfDeltaIsRejected) {
  expect_sink_needs({.sink = 0.5F, .out = Format::bf16},
                    {.arithmetic = [](AttentionBackwardArithmetic& a) { a.out_saved = Format::f32; }});
}

TEST(PlantedAttentionBackwardBound, OfASinkWithoutTheSavedLogSumExpIsRejected) {
  expect_sink_needs({.queries = 3, .keys = 20, .sink = 0.5F, .lse = Format::bf16},
                    {.arithmetic = [](AttentionBackwardArithmetic& a) { a.lse_saved = Format::f32; }});
}

TEST(PlantedAttentionBackwardBound, OfASinkWithoutItsStoredScoreGradientsIsRejected) {
  expect_sink_needs({.queries = 1, .sink = 0.5F, .score_gradients = Format::bf16},
                    {.contract = [](Contract& c) { c.score_gradients.reset(); }});
}

TEST(PlantedAttentionBackwardBound, OfASinkWithoutItsAdditionsIsRejected) {
  // Equal terms: each addition rounds as the ones before it.
  expect_sink_needs({.queries = 3000, .keys = 2, .spread = 0, .gradient_shift = 1000.3, .gradients = 0, .sink = 0.3F},
                    {.sink_additions = true});
}

TEST(PlantedAttentionBackwardBound, WithoutTheSizeOfTheSavedLogSumExpIsRejected) {
  expect_needs({.queries = 3, .keys = 20, .lse = Format::bf16},
               {.arithmetic = [](AttentionBackwardArithmetic& a) { a.lse_saved = Format::f32; }});
}

TEST(PlantedAttentionBackwardBound, WithoutTheRoundingOfTheSavedOutputIsRejected) {
  expect_needs({.spread = 20, .out = Format::bf16},
               {.arithmetic = [](AttentionBackwardArithmetic& a) { a.out_saved = Format::f32; }});
}

TEST(PlantedAttentionBackwardBound, WithoutTheStoredWeightsInTheOutputIsRejected) {
  expect_needs({.spread = 20, .own_out = true, .weights = Format::bf16},
               {.contract = [](Contract& c) { c.weights.reset(); }});
}

TEST(PlantedAttentionBackwardBound, WithoutTheErrorOfASoftcapsSlopeIsRejected) {
  expect_needs({.spread = 20, .softcap = 0.3F}, {.pair = [](BackwardPair& pair) { pair.cap->error = UpperBound(); }});
}

TEST(PlantedAttentionBackwardBound, OfASlopeWithoutTheStoredScoresIsRejected) {
  const auto of_exact_scores = [](BackwardPair& pair) {
    // 2^-18 is far more than a score in f32 errs by.
    const Contract exact = parse_contract("sum=sequential subnormal=kept", Format::f32, Format::f32);
    pair.cap = cap_slope(exact, 0.3F, pair.cap->slope, UpperBound(1), UpperBound(0x1p-18));
  };
  expect_needs({.queries = 1, .keys = 2, .softcap = 0.3F, .scores = Format::f16}, {.pair = of_exact_scores});
}

TEST(PlantedAttentionBackwardBound, WithoutTheStoredWeightsIsRejected) {
  expect_needs({.weights = Format::bf16}, {.contract = [](Contract& c) { c.weights.reset(); }});
}

TEST(PlantedAttentionBackwardBound, WithoutTheStoredScoreGradientsIsRejected) {
  expect_needs({.score_gradients = Format::bf16}, {.contract = [](Contract& c) { c.score_gradients.reset(); }});
}

TEST(PlantedAttentionBackwardBound, WithoutTheOutputIsRejected) {
  expect_needs({.result = Format::bf16}, {.contract = [](Contract& c) { c.output = Format::f32; }});
}

TEST(PlantedAttentionBackwardBound, WithoutTheScoresErrorsIsRejected) {
  expect_needs({.queries = 3, .keys = 20, .shift = 9000.7, .saved_lse = false},
               {.pair = [](BackwardPair& pair) { pair.score_error = UpperBound(); }});
}

TEST(PlantedAttentionBackwardBound, RelativeToTheGradientItselfIsRejected) {
  // Where p is nearly one-hot dS is nothing but the error of two sums that cancel.
  expect_needs({.spread = 20, .out = Format::bf16},
               {.row = [](BackwardRow& row) { row.output_product = UpperBound(); },
                .pair = [](BackwardPair& pair) { pair.gradient_magnitude = UpperBound(); }});
}

TEST(RoundingAttentionBackward, ARowWithoutKeysIsRefused) {
  EXPECT_THROW((void)attention_backward_pairs(parse_contract("", Format::f32, Format::f32), {}, {}),
               std::invalid_argument);
}

}  // namespace
}  // namespace softcheck::numerics
