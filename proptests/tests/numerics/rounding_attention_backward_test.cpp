// B17 against simulated kernels: no kernel that keeps its contract exceeds the bound, and each term that is left out is
// missed by one that does.

#include "numerics/rounding/rounding_attention_backward.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "proptests/tests/numerics/bound_shares.hpp"
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

BackwardCase in_format(BackwardCase c, Format format) {
  c.inputs = c.result = c.weights = c.score_gradients = c.out = format;
  return c;
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

// Kernels of each shape, as vary changes it: every one within the bounds, and one that comes near.
template <class Vary>
void expect_holds(const Vary& vary, const std::vector<BackwardCase>& cases = shapes()) {
  Shares most;
  for (const BackwardCase& c : cases) vary(c, most);
  for (const auto& [name, share] :
       {std::pair("dq", most.dq), {"dk", most.dk}, {"dv", most.dv}, {"dsink", most.dsink}}) {
    testing::Test::RecordProperty(name, std::to_string(share));
  }
  EXPECT_GT(most.largest(), 0.02) << "a bound that nothing comes near";
}

TEST(RoundingAttentionBackward, HoldsInSinglePrecision) { expect_holds(expect_given); }

TEST(RoundingAttentionBackward, HoldsWithNarrowWeightsGradientsAndResults) {
  expect_holds([](const BackwardCase& c, Shares& most) {
    expect_given(in_format(c, Format::bf16), most);
    if (c.shift + c.values <= 1000) expect_given(in_format(c, Format::f16), most);  // others overflow there
  });
}

TEST(RoundingAttentionBackward, HoldsWithAnOutputOfTheKernelsOwn) {
  expect_holds([](const BackwardCase& c, Shares& most) {
    BackwardCase own = in_format(c, Format::bf16);
    own.own_out = true;
    expect_given(own, most);
  });
}

TEST(RoundingAttentionBackward, HoldsWithALogSumExpSavedInSixteenBits) {
  expect_holds([](BackwardCase c, Shares& most) {
    c.lse = Format::bf16;
    if (c.shift < 1000) expect_given(c, most);
  });
}

TEST(RoundingAttentionBackward, HoldsWithTheScalesRootInEachFactor) {
  expect_holds([](BackwardCase c, Shares& most) {
    c.split = true;
    expect_given(c, most);
  });
}

void expect_given_with_softcaps(BackwardCase c, Shares& most) {
  for (const float cap : {0.3F, 2.0F, 50.0F}) {
    c.softcap = cap;
    if (c.shift == 0) expect_given(c, most);
  }
}

TEST(RoundingAttentionBackward, HoldsUnderASoftcap) { expect_holds(expect_given_with_softcaps); }

TEST(RoundingAttentionBackward, HoldsUnderASoftcapOfStoredScores) {
  expect_holds([](BackwardCase c, Shares& most) {
    for (const Format format : {Format::f16, Format::bf16}) {
      c.scores = format;
      expect_given_with_softcaps(c, most);
    }
  });
}

TEST(RoundingAttentionBackward, HoldsThroughBaseTwo) {
  expect_holds([](BackwardCase c, Shares& most) {
    c.base_two = true;
    expect_given(c, most);
  });
}

// Sinks below, among and above the scores.
void expect_given_with_sinks(BackwardCase c, Shares& most) {
  for (const float sink : {-3.0F, 0.7F, 12.0F}) {
    c.sink = static_cast<float>(2 * c.shift * 0.7) + sink;
    expect_given(c, most);
  }
}

TEST(RoundingAttentionBackward, HoldsBesideASink) {
  expect_holds([](BackwardCase c, Shares& most) {
    expect_given_with_sinks(c, most);
    c.base_two = true;
    expect_given_with_sinks(c, most);
  });
  // Equal terms: each addition rounds as the ones before it.
  Shares most;
  expect_given({.queries = 1000, .keys = 1, .spread = 0, .gradient_shift = 1000.3, .gradients = 0, .sink = -3.0F},
               most);
  EXPECT_GT(most.dsink, 0.1);
}

TEST(RoundingAttentionBackward, HoldsBesideASinkInSixteenBits) {
  expect_holds([](const BackwardCase& c, Shares& most) {
    if (c.shift + c.values > 1000) return;
    BackwardCase narrow = in_format(c, Format::bf16);
    expect_given_with_sinks(narrow, most);
    narrow.own_out = true;
    expect_given_with_sinks(narrow, most);
  });
  // Columns that are all alike round alike: the weight, the output and p delta add up.
  Shares most;
  BackwardCase alike =
      in_format({.queries = 1, .keys = 1, .spread = 0, .gradient_shift = 1, .gradients = 0, .values = 0}, Format::bf16);
  alike.own_out = true;
  for (const double value : {1.0, 1.25, 1.625}) {
    alike.value_shift = value;
    for (int k = -40; k <= 40; ++k) {
      alike.sink = static_cast<float>(k) / 16;
      expect_given(alike, most);
    }
  }
  EXPECT_GT(most.dsink, 0.5);
}

// A loss on the log-sum-exp, too: its gradient beside g - delta, far above it, and met by it in each of four ways.
void expect_held_with_two_losses(Format format) {
  const auto vary = [format](const BackwardCase& shape, Shares& most) {
    BackwardCase c = in_format(shape, format);
    for (const float by_lse : {-1.7F, 1000.3F}) {
      c.lse_gradient = by_lse;
      for (c.grouping = 0; c.grouping < 4; ++c.grouping) {
        c.softcap = c.shift == 0 && c.grouping > 1 ? 2.0F : 0.0F;
        expect_given(c, most);
      }
    }
  };
  expect_holds(vary, {{.spread = 1},
                      {.spread = 20},
                      {.queries = 1, .keys = 1},
                      {.queries = 3, .keys = 20, .shift = 100.3},
                      {.gradient_shift = 1000}});
}

TEST(RoundingAttentionBackward, HoldsWithAGradientByTheLogSumExp) { expect_held_with_two_losses(Format::f32); }

TEST(RoundingAttentionBackward, HoldsWithAGradientByTheLogSumExpInSixteenBits) {
  expect_held_with_two_losses(Format::bf16);
}

// The planted bound is exceeded where the right one holds.
void rejected(const char* name, const BackwardCase& c, const Left& left) {
  simulated::add_test("PlantedAttentionBackwardBound", name, [=] {
    EXPECT_LE(judged(c, nullptr).largest(), 1);
    const Shares planted = judged(c, &left);
    EXPECT_GT(c.sink ? planted.dsink : planted.largest(), 1);
  });
}

[[maybe_unused]] const bool backward_registered = [] {
  const Left out{.arithmetic = [](AttentionBackwardArithmetic& a) { a.out_saved = Format::f32; }};
  const Left lse{.arithmetic = [](AttentionBackwardArithmetic& a) { a.lse_saved = Format::f32; }};
  const Left score_gradients{.contract = [](Contract& c) { c.score_gradients.reset(); }};
  const Left weights{.contract = [](Contract& c) { c.weights.reset(); }};
  rejected("OfASinkWithoutTheErrorOfDeltaIsRejected", {.sink = 0.5F, .out = Format::bf16}, out);
  rejected("OfASinkWithoutTheSavedLogSumExpIsRejected", {.queries = 3, .keys = 20, .sink = 0.5F, .lse = Format::bf16},
           lse);
  rejected("OfASinkWithoutItsStoredScoreGradientsIsRejected",
           {.queries = 1, .sink = 0.5F, .score_gradients = Format::bf16}, score_gradients);
  // Equal terms: each addition rounds as the ones before it.
  rejected("OfASinkWithoutItsAdditionsIsRejected",
           {.queries = 3000, .keys = 2, .spread = 0, .gradient_shift = 1000.3, .gradients = 0, .sink = 0.3F},
           {.sink_additions = true});
  rejected("WithoutTheSizeOfTheSavedLogSumExpIsRejected", {.queries = 3, .keys = 20, .lse = Format::bf16}, lse);
  rejected("WithoutTheRoundingOfTheSavedOutputIsRejected", {.spread = 20, .out = Format::bf16}, out);
  rejected("WithoutTheStoredWeightsInTheOutputIsRejected", {.spread = 20, .own_out = true, .weights = Format::bf16},
           weights);
  rejected("WithoutTheErrorOfASoftcapsSlopeIsRejected", {.spread = 20, .softcap = 0.3F},
           {.pair = [](BackwardPair& pair) { pair.cap->error = UpperBound(); }});
  rejected("OfASlopeWithoutTheStoredScoresIsRejected",
           {.queries = 1, .keys = 2, .softcap = 0.3F, .scores = Format::f16}, {.pair = [](BackwardPair& pair) {
             // 2^-18 is far more than a score in f32 errs by.
             const Contract exact = simulated::f32_contract("sum=sequential subnormal=kept");
             pair.cap = cap_slope(exact, 0.3F, pair.cap->slope, UpperBound(1), UpperBound(0x1p-18));
           }});
  rejected("WithoutTheStoredWeightsIsRejected", {.weights = Format::bf16}, weights);
  rejected("WithoutTheStoredScoreGradientsIsRejected", {.score_gradients = Format::bf16}, score_gradients);
  rejected("WithoutTheOutputIsRejected", {.result = Format::bf16},
           {.contract = [](Contract& c) { c.output = Format::f32; }});
  rejected("WithoutTheScoresErrorsIsRejected", {.queries = 3, .keys = 20, .shift = 9000.7, .saved_lse = false},
           {.pair = [](BackwardPair& pair) { pair.score_error = UpperBound(); }});
  // Where p is nearly one-hot dS is nothing but the error of two sums that cancel.
  rejected("RelativeToTheGradientItselfIsRejected", {.spread = 20, .out = Format::bf16},
           {.row = [](BackwardRow& row) { row.output_product = UpperBound(); },
            .pair = [](BackwardPair& pair) { pair.gradient_magnitude = UpperBound(); }});
  return true;
}();

TEST(RoundingAttentionBackward, ARowWithoutKeysIsRefused) {
  EXPECT_THROW((void)attention_backward_pairs(simulated::f32_contract(""), {}, {}), std::invalid_argument);
}

}  // namespace
}  // namespace softcheck::numerics
