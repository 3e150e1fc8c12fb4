// Attention's gradient judged: the exact value against the difference quotient of the forward pass, what an ideal
// kernel returns holds, and a value beyond its threshold does not.
#include "judge/ops/attention/attention_gradient.hpp"

#include "judge/ops/attention/query_oracles.hpp"
#include "judge/ops/attention/saved_outputs.hpp"
#include "numerics/oracles/attention_gradient_oracle.hpp"
#include "numerics/rounding/rounding_attention_backward.hpp"
#include "proptests/tests/judge/attention_samples.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

// Every second one has attributes, half of these a loss on the log-sum-exps, too.
std::vector<AttentionCase> gradient_cases(Format format, int count, std::size_t work = 1024) {
  AttentionOptions options = small_attention(40, work);
  options.format = format;
  options.score_unit = format == Format::f64 ? 0x1p-53 : 0x1p-24;
  options.gradients = options.blind_queries = true;
  const auto plain = attention_cases(options);
  options.attributes = true;
  options.domain = parse_domain("window softcap dsinks alibi bias causal=either", true);
  const auto attributed = attention_cases(options);
  options.domain = parse_domain("window softcap sinks alibi bias dlse causal=either", true);
  const auto with_two_losses = attention_cases(options);
  rc::Random random(11);
  std::vector<AttentionCase> cases;
  for (int i = 0; i < count; ++i) {
    const auto& drawn = i % 2 == 0 ? plain : i % 4 == 1 ? attributed : with_two_losses;
    cases.push_back(drawn(random.split(), 100).value());
  }
  return cases;
}

// <dO, out> of all queries, and dL lse of those that see a key, with 2^exponent added to one number.
Enclosure loss(const AttentionCase& a, const double* changed, long exponent) {
  const AttentionShape& s = a.shape;
  Enclosure total;
  each_row(s, [&](std::size_t b, std::size_t h, std::size_t i) {
    const AttentionRow row = row_of(a, b, h, i);
    const auto number = [&](const double& x) {
      return &x == changed ? Enclosure(x) + Enclosure::power_of_two(exponent) : Enclosure(x);
    };
    Enclosure sum, weighted;
    for (std::size_t j = 0; j < s.keys; ++j) {
      if (row.visible[j] == 0) continue;
      Enclosure score, product;
      for (std::size_t t = 0; t < s.dim; ++t) score += number(row.query[t]) * number(row.keys[j * s.dim + t]);
      for (std::size_t c = 0; c < s.value_dim; ++c) {
        product +=
            Enclosure(a.gradients[row_number(s, b, h, i) * s.value_dim + c]) * number(row.values[j * s.value_dim + c]);
      }
      Enclosure x = Enclosure(a.scale) * score;
      if (row.softcap != 0) x = Enclosure(row.softcap) * tanh(x / Enclosure(row.softcap));
      if (row.slope != 0) x -= Enclosure(row.slope) * Enclosure(row.distances[j]);
      if (!row.bias.empty()) x += Enclosure(row.bias[j]);
      const Enclosure weight = exp(x);
      sum += weight;
      weighted += weight * product;
    }
    if (row.sink) sum += exp(number(a.attributes.sinks[h]));
    if (sum.certainly_positive()) total += weighted / sum;
    const std::vector<double>& by_lse = a.attributes.lse_gradients;
    if (!by_lse.empty() && std::ranges::count(row.visible, 1) > 0) {
      total += Enclosure(by_lse[row_number(s, b, h, i)]) * log(sum);
    }
  });
  return total;
}

using Outputs = AttentionOp::Outputs;

Outputs zeros(const AttentionCase& a) {
  Outputs all{std::vector<double>(a.queries.size()), std::vector<double>(a.keys.size()),
              std::vector<double>(a.values.size())};
  if (a.asks_sink_gradients()) all.emplace_back(a.shape.heads());
  return all;
}

// dq, dk, dv and dsinks by enclosures.
std::vector<std::vector<Enclosure>> exact_gradient(const AttentionCase& a) {
  const AttentionShape& s = a.shape;
  std::vector<std::vector<Enclosure>> result{
      std::vector<Enclosure>(a.queries.size()), std::vector<Enclosure>(a.keys.size()),
      std::vector<Enclosure>(a.values.size()), std::vector<Enclosure>(a.attributes.sinks.size())};
  each_row(s, [&](std::size_t b, std::size_t h, std::size_t i) {
    const AttentionRow row = row_of(a, b, h, i);
    if (std::ranges::count(row.visible, 1) == 0) return;
    const std::size_t number = row_number(s, b, h, i), head = b * s.kv_heads + h / s.group;
    const auto gradient = std::span(a.gradients).subspan(number * s.value_dim, s.value_dim);
    const QueryGradient query =
        query_gradient({.query = row.query,
                        .keys = row.keys,
                        .values = row.values,
                        .value_size = s.value_dim,
                        .scale = a.scale,
                        .visible = row.visible,
                        .items = s.keys,
                        .softcap = row.softcap,
                        .slope = row.slope,
                        .distances = row.distances,
                        .bias = row.bias,
                        .sink = row.sink},
                       gradient, a.attributes.lse_gradients.empty() ? 0 : a.attributes.lse_gradients[number]);
    if (row.sink) result[3][h] += query.sink_gradient;
    for (std::size_t j = 0; j < s.keys; ++j) {
      const Enclosure ds = Enclosure(a.scale) * query.score_gradients[j];
      for (std::size_t t = 0; t < s.dim; ++t) {
        result[0][number * s.dim + t] += ds * Enclosure(row.keys[j * s.dim + t]);
        result[1][(head * s.keys + j) * s.dim + t] += ds * Enclosure(row.query[t]);
      }
      for (std::size_t c = 0; c < s.value_dim; ++c) {
        result[2][(head * s.keys + j) * s.value_dim + c] += query.coefficients[j] * Enclosure(gradient[c]);
      }
    }
  });
  return result;
}

struct Worst {
  ValueFinding finding;
  std::size_t row;
};

// The worst finding of each claim of the call.
std::map<std::string, Worst> findings_of(const AttentionTask& task, const AttentionCase& a, const Outputs& got) {
  std::map<std::string, Worst> worst;
  task.op.attention_op().judge(task, a, got, {}, [&](std::size_t row, const RowVerdicts& verdicts) {
    for (const ValueFinding& finding : verdicts.findings) {
      const auto [at, is_new] = worst.try_emplace(std::string(finding.claim), Worst{finding, row});
      if (!is_new && finding.share() > at->second.finding.share()) at->second = {finding, row};
    }
  });
  return worst;
}

TEST(AttentionGradient, TheExactValueIsThatOfADifferenceQuotient) {
  const PrecisionScope precision(900);
  constexpr long step = -300;
  std::size_t compared = 0, sinks = 0;
  for (const AttentionCase& a : gradient_cases(Format::f64, 40, 200)) {
    const std::vector<double>* const inputs[] = {&a.queries, &a.keys, &a.values, &a.attributes.sinks};
    const Enclosure before = loss(a, nullptr, step);
    const std::vector<std::vector<Enclosure>> exact = exact_gradient(a);
    for (std::size_t which = 0; which < std::size(inputs); ++which) {
      if (inputs[which]->empty()) continue;
      const std::size_t element = inputs[which]->size() / 2;
      const Enclosure after = loss(a, inputs[which]->data() + element, step);
      const Enclosure quotient = (after - before) * Enclosure::power_of_two(-step);
      // What a difference quotient errs by: 2^-300 times the second derivative, whose numbers are far below 2^100.
      EXPECT_TRUE((exact[which][element] + Enclosure::between(-0x1p-200, 0x1p-200)).overlaps(quotient))
          << which << " of " << to_text(a);
      EXPECT_LT(quotient.width(), 0x1p-200);
      ++(which < 3 ? compared : sinks);
    }
  }
  EXPECT_EQ(compared, 120u);
  EXPECT_GT(sinks, 5u);
}

class GradientJudge : public ::testing::TestWithParam<Format> {};

TEST_P(GradientJudge, WhatAnIdealKernelReturnsHoldsAndWhatLiesBeyondDoesNot) {
  const AttentionTask task = gradient_task(GetParam());
  std::size_t broken = 0, of_sinks = 0;
  for (const AttentionCase& a : gradient_cases(GetParam(), 40)) {
    Outputs ideal = zeros(a);
    std::vector<std::vector<Enclosure>> exact;
    {
      const PrecisionScope precision(256);
      exact = exact_gradient(a);
      for (std::size_t which = 0; which < ideal.size(); ++which) {
        const Format format = which < 3 ? a.format : task.scalars;
        std::ranges::transform(exact[which], ideal[which].begin(),
                               [&](const Enclosure& x) { return round_to(format, x.midpoint()); });
      }
    }
    const std::size_t sizes[] = {a.shape.dim, a.shape.dim, a.shape.value_dim};
    const std::size_t queries = a.shape.batch * a.shape.heads() * a.shape.queries;
    for (const auto& [claim, worst] : findings_of(task, a, ideal)) {
      EXPECT_EQ(worst.finding.decision, Decision::proved) << claim << " of " << to_text(a);
      const auto which = static_cast<std::size_t>(std::ranges::find(task.op->claims, claim) - task.op->claims.begin());
      if (which > 3) continue;  // of a row that must be 0
      const std::size_t row = which == 0 ? worst.row : worst.row - queries;
      const std::size_t element =
          which == 3 ? worst.row - sink_number(a.shape, 0) : row * sizes[which] + *worst.finding.item;
      EXPECT_TRUE(worst.finding.expected.overlaps(exact[which][element])) << claim << " of " << to_text(a);
      Outputs wrong = ideal;
      const Format of_result = which < 3 ? a.format : task.scalars;
      const FormatProperties& format = properties(of_result);
      const double by = 2 * worst.finding.threshold + 4 * format.unit_roundoff * std::fabs(ideal[which][element]) +
                        4 * format.smallest_subnormal;
      wrong[which][element] = round_to(of_result, ideal[which][element] + by);
      EXPECT_EQ(findings_of(task, a, wrong).at(claim).finding.decision, Decision::violated) << claim << to_text(a);
      ++(which < 3 ? broken : of_sinks);
    }
  }
  EXPECT_GT(broken, 50u);
  EXPECT_GT(of_sinks, 3u);
}

INSTANTIATE_TEST_SUITE_P(Formats, GradientJudge, ::testing::ValuesIn(wide_formats),
                         [](const auto& format) { return std::string(properties(format.param).name); });

TEST(AttentionGradient, WhatNobodySeesIsZero) {
  AttentionCase a;
  a.shape = {1, 1, 1, 2, 3, 1, 1};
  a.queries = {1, 2};
  a.keys = {0, 1, 2};
  a.values = {1, 2, 3};
  a.gradients = {1, 1};
  a.mask = {1, 1, 0, 0, 0, 0};
  const AttentionTask task = gradient_task();
  EXPECT_EQ(findings_of(task, a, zeros(a)).at("kernel.masked_row").finding.decision, Decision::proved);
  for (const auto& [which, element] : {std::pair{0, 1}, std::pair{1, 2}, std::pair{2, 2}}) {
    Outputs got = zeros(a);
    got[static_cast<std::size_t>(which)][static_cast<std::size_t>(element)] = 0x1p-149;
    EXPECT_EQ(std::ranges::count(broken_claims(task, a, got), "kernel.masked_row"), 1) << which;
  }
}

TEST(AttentionGradient, AQueryThatSeesItsSinkAloneHasThatAsLogSumExp) {
  AttentionCase a;
  a.shape = {1, 1, 1, 1, 1, 1, 1};
  a.queries = a.keys = a.values = a.gradients = {1};
  a.mask = {0};
  a.attributes.sinks = {3};
  const SavedOutputs saved = saved_outputs(gradient_task(), a);
  EXPECT_EQ(saved.lse, std::vector<double>{3});
  EXPECT_EQ(saved.out, std::vector<double>{0});
}

// Of two equal keys, by B17 with everything put in by hand.
TEST(AttentionGradient, ThresholdsAreThoseOfTheBound) {
  AttentionCase a;
  a.shape = {1, 1, 1, 1, 2, 1, 1};
  a.queries = {0};
  a.keys = {1, 1};
  a.values = {1, -1};
  a.gradients = {1};
  const AttentionTask task = gradient_task();
  const AttentionBackwardArithmetic arithmetic{.key_sum_height = 1};
  BackwardPair pair{UpperBound(0.5), {}, {}, UpperBound(1), UpperBound(1), UpperBound(1)};
  const std::vector<BackwardPair> pairs{pair, pair};
  const UpperBound log_two = log(UpperBound(2));
  const auto errors = attention_backward_pairs(
      task.contract, arithmetic,
      {pairs, rescaling_count(task.contract, std::vector<double>{0, 0}), log_two, log_two, {}, UpperBound(1)});
  const std::vector<UpperBound> one{UpperBound(1)}, zero{UpperBound(0)}, ones{UpperBound(1), UpperBound(1)};
  const double expected[] = {
      upper(ScoreGradientSum(task.contract, arithmetic, errors, 1).error(ones, UpperBound(0)).total()),
      upper(ScoreGradientSum(task.contract, arithmetic, std::span(errors).first(1), 0).error(zero, {}).total()),
      upper(
          ValueGradientSum(task.contract, arithmetic, std::span(errors).first(1)).error(one, UpperBound(0.5)).total())};
  Outputs got = zeros(a);
  got[1] = {1, 1};
  got[2] = {0.5, 0.5};
  got[0] = {1};
  const auto found = findings_of(task, a, got);
  // The judge bounds the same inputs from above by a few ulps each and computes upwards, some hundred operations an ulp
  // each: 2^-30 leaves room, and is far less than one rounding among those that the bound counts.
  for (std::size_t which = 0; which < 3; ++which) {
    const double threshold = found.at(std::string(task.op->claims[which])).finding.threshold;
    EXPECT_GE(threshold, expected[which] * (1 - 0x1p-30)) << which;
    EXPECT_LE(threshold, expected[which] * (1 + 0x1p-30)) << which;
  }
}

// The second key's weight is e^-80, of which an arithmetic that flushes may lose 2^-126.
TEST(AttentionGradient, ALargeGradientOfALittleWeightMayBeOffByWhatIsFlushed) {
  AttentionCase a;
  a.shape = {1, 1, 1, 1, 2, 1, 1};
  a.queries = {1};
  a.keys = {0, -80};
  a.values = {0, 0};
  a.gradients = {0x1p100};
  const AttentionTask task = gradient_task();
  for (const auto& [off, expected] : {std::pair(0x1p-28, Decision::proved), std::pair(0x1p-12, Decision::violated)}) {
    Outputs got = zeros(a);
    got[2] = {0x1p100, round_to(Format::f32, std::exp(-80) * 0x1p100 + off)};
    EXPECT_EQ(findings_of(task, a, got).at(std::string(task.op->claims[2])).finding.decision, expected) << off;
  }
}

// Values of f64 whose products no double holds: a gradient of 0 may meet an infinite bound.
TEST(AttentionGradient, ProductsBeyondTheDoublesAreJudged) {
  AttentionCase a;
  a.shape = {1, 1, 1, 1, 2, 2, 2};
  a.queries = {1, 0};
  a.keys = {0, 1e-3, 0, 2e-3};
  a.values = {1e200, 1, -1e200, 2};
  a.gradients = {1e200, 1};
  const AttentionTask task = gradient_task(Format::f64);
  for (const auto& [claim, worst] : findings_of(task, a, zeros(a))) {
    EXPECT_NE(worst.finding.decision, Decision::undecided) << claim;
  }
}

TEST(AttentionGradient, SavedOutputsAreRoundedOnce) {
  for (const Format format : {Format::f64, Format::f32, Format::bf16}) {
    const AttentionTask task = gradient_task(format);
    for (const AttentionCase& a : gradient_cases(format, 30)) {
      const SavedOutputs saved = saved_outputs(task, a);
      each_row(a.shape, [&](std::size_t b, std::size_t h, std::size_t i) {
        const std::size_t row = row_number(a.shape, b, h, i);
        const AttentionRow query = row_of(a, b, h, i);
        const std::vector<std::size_t> items = visible_items(query);
        if (items.empty()) {
          EXPECT_EQ(saved.lse[row], query.sink.value_or(-infinity));
          return;
        }
        const PrecisionScope precision(512);
        QueryOracles oracles(task, query, items);
        const auto is_rounded = [](double got, const Enclosure& exact, Format to) {
          const double u = properties(to).unit_roundoff;
          // u / (1 - u) of itself, and half of the smallest number.
          const Enclosure room = Enclosure(u) / (Enclosure(1) - Enclosure(u)) * abs(exact) +
                                 Enclosure(properties(to).smallest_subnormal) * Enclosure(0.5);
          return less_equal(abs(Enclosure(got) - exact), room) != Decision::violated;
        };
        EXPECT_TRUE(is_rounded(saved.lse[row], oracles.value(AttentionClaim::lse, 0), task.scalars)) << to_text(a);
        for (std::size_t c = 0; c < a.shape.value_dim; ++c) {
          EXPECT_TRUE(
              is_rounded(saved.out[row * a.shape.value_dim + c], oracles.value(AttentionClaim::output, c), format))
              << to_text(a);
        }
      });
    }
  }
}

TEST(AttentionGradient, ACaseIsItsTextAndShrinksWithItsGradient) {
  AttentionOptions options;
  options.gradients = true;
  for (const AttentionCase& a : gradient_cases(Format::f32, 20)) {
    const AttentionCase read = read_back(a);
    EXPECT_EQ(read.gradients, a.gradients);
    EXPECT_EQ(read, a);
    auto shrinks = shrink_attention_case(a, options);
    for (int k = 0; k < 50; ++k) {
      const rc::Maybe<AttentionCase> smaller = shrinks.next();
      if (!smaller) break;
      EXPECT_TRUE(sizes_agree(*smaller)) << to_text(*smaller);
      EXPECT_EQ(smaller->gradients.empty(), smaller->shape.queries == 0);
    }
  }
  AttentionCase forward = gradient_cases(Format::f32, 1).front();
  forward.gradients.clear();
  EXPECT_FALSE(admits(options, forward));
}

TEST(AttentionGradient, ADomainMayNameItsAttributes) {
  EXPECT_NO_THROW(domain_of("window softcap sinks alibi bias causal=either", Op::attention_backward));
  EXPECT_THROW(domain_of("window", Op::adaptive_attention), std::invalid_argument);
}

}  // namespace
}  // namespace softcheck::proptests
