// Differential attention: exact values by two routes, simulated kernels, masked queries, and its calls.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "judge/ops/attention/differential_thresholds.hpp"
#include "judge/ops/attention/query_oracles.hpp"
#include "judge/trial/kernel_judgement.hpp"
#include "numerics/enclosures/decision.hpp"
#include "proptests/generators/attention/attention_second.hpp"
#include "proptests/tests/judge/attention_samples.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

std::vector<AttentionCase> differential_cases(Format format, int count,
                                              const char* words = "window softcap alibi bias") {
  AttentionOptions options = small_attention(60, 4096, words);
  options.format = format;
  options.score_unit = properties(format == Format::f64 ? Format::f64 : Format::f32).unit_roundoff;
  std::vector<AttentionCase> cases;
  for (const AttentionCase& drawn : drawn_attention(options, count, 7, 100)) {
    AttentionCase a = Op::differential_attention.attention_op().completed(drawn);
    if (a.shape.batch * a.shape.heads() * a.shape.queries * a.shape.keys != 0) cases.push_back(std::move(a));
  }
  return cases;
}

// softmax(scale q k) in double, from the definition; none of the visible keys' terms but bias and slope.
std::vector<double> plain_weights(const AttentionRow& row) {
  std::vector<double> x;
  double most = -INFINITY, sum = 0;
  for (std::size_t j = 0; j < row.visible.size(); ++j) {
    double dot = 0;
    for (std::size_t t = 0; t < row.query.size(); ++t) dot += row.query[t] * row.keys[j * row.query.size() + t];
    x.push_back(row.visible[j] != 0 ? row.scale * dot : -INFINITY);
    most = std::max(most, x.back());
  }
  for (double& each : x) sum += each = std::exp(each - most);
  for (double& each : x) each /= sum;
  return x;
}

TEST(DifferentialAttention, BothRoutesAgree) {
  for (const Format format : {Format::f64, Format::f32, Format::bf16}) {
    const AttentionTask task = attention_task(Op::differential_attention, format);
    std::size_t close = 0;
    for (const AttentionCase& a : differential_cases(format, 60)) {
      EXPECT_EQ(a.outputs, 1);
      EXPECT_EQ(to_text(read_back(a)), to_text(a));
      const AttentionRow row = row_of(a, 0, a.shape.heads() - 1, 0);
      const VisibleKeys visible(task.contract, row);
      if (visible.keys() == 0) continue;
      const PrecisionScope precision(256);
      const DifferentialThresholds thresholds(task, row, visible);
      QueryOracles oracles(task, row, visible.items);
      for (std::size_t c = 0; c < row.value_size; ++c) {
        const Judgeable value = thresholds.column(c);
        EXPECT_TRUE(value.exact.enclosure().overlaps(oracles.value(AttentionClaim::output, c))) << to_text(a);
        close += static_cast<double>(value.exact.error) < value.threshold / 4 ? 1 : 0;
      }
    }
    EXPECT_GT(close, 50u);
  }
}

TEST(DifferentialAttention, TheDefinitionIsThatOfTwoSoftmaxes) {
  const AttentionTask task = attention_task(Op::differential_attention);
  std::size_t apart = 0;
  for (const AttentionCase& a : differential_cases(Format::f32, 40, nullptr)) {
    const AttentionRow row = row_of(a, 0, a.shape.heads() - 1, 0);
    const VisibleKeys visible(task.contract, row);
    if (visible.keys() == 0) continue;
    const std::vector<double> p = plain_weights(row), other = plain_weights(row.second());
    const DifferentialThresholds thresholds(task, row, visible);
    double sum = 0, first = 0;
    for (std::size_t j = 0; j < p.size(); ++j) {
      if (row.visible[j] == 0) continue;
      sum += (p[j] - a.attributes.lambdas.back() * other[j]) * row.values[j * row.value_size];
      first += p[j] * row.values[j * row.value_size];
    }
    const Judgeable value = thresholds.column(0);
    EXPECT_NEAR(static_cast<double>(value.exact.value), sum, 1e-9 * (1 + value.magnitude)) << to_text(a);
    apart += std::fabs(sum - first) > value.threshold ? 1 : 0;
  }
  EXPECT_GT(apart, 20u);
}

// A kernel of single precision, whose weights, parts, lambda and product with it are numbers of a format.
struct TwoSoftmaxes {
  Format stored = Format::f32;
  bool of_weights = false;  // subtracts the weights, not the parts

  float in_format(float x) const { return static_cast<float>(round_to(stored, x)); }
  std::vector<float> weights(const AttentionRow& row) const {
    std::vector<float> x;
    float most = -INFINITY, sum = 0;
    for (std::size_t j = 0; j < row.visible.size(); ++j) {
      float dot = 0;
      for (std::size_t t = 0; t < row.query.size(); ++t) {
        dot += static_cast<float>(row.query[t]) * static_cast<float>(row.keys[j * row.query.size() + t]);
      }
      x.push_back(row.visible[j] != 0 ? static_cast<float>(row.scale) * dot : -INFINITY);
      most = std::max(most, x.back());
    }
    for (float& each : x) sum += each = std::exp(each - most);
    for (float& each : x) each /= sum;
    return x;
  }
  std::vector<float> part(const std::vector<float>& p, const AttentionRow& row) const {
    std::vector<float> out(row.value_size);
    for (std::size_t n = 0; n < row.values.size(); ++n) {
      const std::size_t j = n / row.value_size;
      if (row.visible[j] != 0) out[n % row.value_size] += p[j] * static_cast<float>(row.values[n]);
    }
    return out;
  }
  std::vector<double> out(const AttentionRow& row, Format output) const {
    std::vector<float> p = weights(row), other = weights(row.second());
    const float lambda = in_format(static_cast<float>(row.lambda));
    std::vector<double> result;
    if (of_weights) {
      for (std::size_t j = 0; j < p.size(); ++j) p[j] -= lambda * other[j];
      for (const float x : part(p, row)) result.push_back(round_to(output, x));
      return result;
    }
    const std::vector<float> first = part(p, row), second = part(other, row);
    for (std::size_t c = 0; c < first.size(); ++c) {
      result.push_back(round_to(output, in_format(first[c]) - in_format(lambda * in_format(second[c]))));
    }
    return result;
  }
};

struct KernelFindings {
  std::size_t values = 0, broken = 0;
  double share = 0;
};

KernelFindings findings_of(const AttentionTask& task, const TwoSoftmaxes& kernel) {
  KernelFindings all;
  for (const AttentionCase& a : differential_cases(task.contract.input, 60, nullptr)) {
    for (std::size_t i = 0; i < a.shape.queries; ++i) {
      const AttentionRow row = row_of(a, 0, a.shape.heads() - 1, i);
      if (std::ranges::count(row.visible, 1) == 0) continue;
      const std::vector<double> got = kernel.out(row, task.contract.output);
      for (const ValueFinding& finding : judge_attention(task, row, {got, {}, {}}).findings) {
        ++all.values;
        all.broken += finding.decision == Decision::proved ? 0 : 1;
        if (finding.threshold > 0) all.share = std::max(all.share, finding.share());
      }
    }
  }
  return all;
}

TEST(DifferentialAttention, SimulatedKernelsStayWithinTheBound) {
  for (const bool of_weights : {false, true}) {
    for (const Format format : {Format::f32, Format::bf16}) {
      const KernelFindings all =
          findings_of(attention_task(Op::differential_attention, format), {.of_weights = of_weights});
      EXPECT_GT(all.values, 300u);
      EXPECT_EQ(all.broken, 0u);
      EXPECT_GT(all.share, 0.05);
    }
  }
  const TwoSoftmaxes narrow{.stored = Format::bf16};
  const KernelFindings granted =
                           findings_of(attention_task(Op::differential_attention, Format::bf16, "values=bf16"), narrow),
                       strict = findings_of(attention_task(Op::differential_attention, Format::bf16), narrow);
  EXPECT_EQ(granted.broken, 0u);
  EXPECT_GT(strict.broken, 50u);
}

// Exact parts, of which a kernel takes the difference in a format.
TEST(DifferentialAttention, TheDifferenceRoundsThreeTimes) {
  std::mt19937_64 engine(5);
  std::uniform_real_distribution<double> positive(0.5, 1);
  for (const auto& [words, format] : {std::pair{"", Format::f32}, {"values=bf16", Format::bf16}}) {
    const Contract contract = parse_contract(words, Format::f32, Format::f32);
    double largest = 0;
    for (int k = 0; k < 20000; ++k) {
      const double a = round_to(format, positive(engine)), b = round_to(format, positive(engine));
      const double lambda = round_to(Format::f32, positive(engine));
      const double product = round_to(format, round_to(format, lambda) * b), got = round_to(format, a - product);
      const ScalarThreshold<UpperBound> threshold =
          DifferentialThreshold(contract, lambda, 0)
              .column({UpperBound(0), UpperBound(a)}, {UpperBound(0), UpperBound(b)}, UpperBound(2),
                      UpperBound(std::fabs(a - lambda * b)));
      largest = std::max(largest, std::fabs(got - (a - lambda * b)) / upper(threshold.total()));
    }
    EXPECT_LE(largest, 1);
    EXPECT_GT(largest, format == Format::bf16 ? 0.4 : 0.25);
  }
}

TEST(DifferentialAttention, WhereTheMapsCancelTheErrorIsAbsolute) {
  AttentionRow row;
  const std::vector<double> query{1}, keys{3, 3.25}, values{1, 2};
  row.query = query;
  row.keys = keys;
  row.values = values;
  row.value_size = 1;
  row.visible = {1, 1};
  row.second_query = query;
  row.second_keys = keys;
  row.lambda = 1;
  const AttentionTask task = attention_task(Op::differential_attention);
  const auto holds = [&](double got) {
    const std::vector<double> out{got};
    const RowVerdicts verdicts = judge_attention(task, row, {out, {}, {}});
    EXPECT_EQ(verdicts.findings.size(), 1u);
    return verdicts.findings.at(0).decision == Decision::proved;
  };
  EXPECT_TRUE(holds(0));
  EXPECT_TRUE(holds(0x1p-23));
  EXPECT_FALSE(holds(0x1p-17));
  EXPECT_FALSE(holds(nan));
}

TEST(DifferentialAttention, AQueryWithoutKeysIsAsDeclared) {
  const std::vector<double> query{1}, keys{0, 2}, values{1, 4};
  AttentionRow row;
  row.query = query;
  row.keys = keys;
  row.values = values;
  row.value_size = 1;
  row.visible = {0, 0};
  const std::vector<double> second_query{2}, second_keys{1, -1};
  row.second_query = second_query;
  row.second_keys = second_keys;
  row.lambda = 0.5;
  const auto holds = [&](const char* words, double got) {
    const std::vector<double> out{got};
    const RowVerdicts verdicts =
        judge_attention(attention_task(Op::differential_attention, Format::f32, words), row, {out, {}, {}});
    return verdicts.findings.at(0).claim == "kernel.masked_row" && verdicts.findings[0].decision == Decision::proved;
  };
  EXPECT_TRUE(holds("masked=nan", nan));
  EXPECT_TRUE(holds("masked=zero", 0));
  EXPECT_FALSE(holds("masked=zero", nan));
  EXPECT_TRUE(holds("masked=uniform", 1.25));  // (1 - 0.5) 2.5
  EXPECT_FALSE(holds("masked=uniform", 2.5));
}

TEST(DifferentialAttention, CallsHaveTheirSecondMapAndLambdasOfEveryHead) {
  const AttentionOp& of = Op::differential_attention.attention_op();
  const AttentionTask task = attention_task(Op::differential_attention);
  std::size_t other = 0, heads = 0;
  for (const AttentionCase& a : differential_cases(Format::f32, 40, nullptr)) {
    const TensorCall call = of.call(task, a);
    EXPECT_EQ(call.op, std::uint32_t{SOFTCHECK_OP_DIFFERENTIAL_ATTENTION});
    ASSERT_EQ(call.roles[3], Role::second_query);
    ASSERT_EQ(call.roles[4], Role::second_key);
    ASSERT_EQ(call.roles[5], Role::lambda);
    EXPECT_EQ(call.inputs[5].values, a.attributes.lambdas);
    other += call.inputs[4].values != a.keys ? 1 : 0;
    heads += a.shape.heads() > 1 && a.attributes.lambdas[0] != a.attributes.lambdas[1] ? 1 : 0;
    const std::size_t last = a.shape.heads() - 1;
    const AttentionRow row = row_of(a, 0, last, 0);
    if (const std::optional<AttentionCase> alone = query_alone(a, 0, last, 0)) {
      const AttentionRow same = row_of(*alone, 0, 0, 0);
      EXPECT_TRUE(std::ranges::equal(same.second_query, row.second_query));
      EXPECT_EQ(same.lambda, row.lambda);
      EXPECT_TRUE(std::equal(same.second_keys.begin(), same.second_keys.end(), row.second_keys.begin()));
    }
    AttentionCase one = a;
    one.attributes.lambdas.clear();
    take_conventions(one, parse_domain("lambda=shared", true));
    one = of.completed(one);
    EXPECT_EQ(std::ranges::count(one.attributes.lambdas, one.attributes.lambdas[0]),
              static_cast<std::ptrdiff_t>(one.shape.heads()));
    EXPECT_TRUE(lies_in(parse_domain("lambda=shared", true), one, traits_of(one)));
  }
  EXPECT_GT(std::min(other, heads), 10u);
  EXPECT_THROW(domain_of("lambda=shared", Op::attention), std::invalid_argument);
  EXPECT_THROW(domain_of("dropout", Op::differential_attention), std::invalid_argument);
}

TEST(DifferentialAttention, ANaNBelongsToOneMap) {
  std::vector<double> vectors{1, nan, 3, 4, nan, 6, 7, 8, nan, nan, nan, nan};
  const TwoMaps maps = two_maps(vectors, 4, Format::f32);
  const auto nans = [](const std::vector<double>& of, std::size_t row) {
    return std::count_if(of.begin() + static_cast<std::ptrdiff_t>(4 * row),
                         of.begin() + static_cast<std::ptrdiff_t>(4 * row + 4), [](double x) { return std::isnan(x); });
  };
  EXPECT_EQ(nans(maps.first, 0), 0);
  EXPECT_EQ(nans(maps.second, 0), 1);
  EXPECT_EQ(nans(maps.first, 1), 1);
  EXPECT_EQ(nans(maps.second, 1), 0);
  EXPECT_EQ(nans(maps.first, 2) + nans(maps.second, 2), 8);
}

}  // namespace
}  // namespace softcheck::proptests
