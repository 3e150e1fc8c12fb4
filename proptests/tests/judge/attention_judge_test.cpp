// One query judged: what an ideal kernel returns holds, in every format, and a value beyond its threshold does not.
#include "judge/ops/attention/attention_thresholds.hpp"
#include "judge/trial/kernel_claims.hpp"
#include "numerics/oracles/attention_oracle.hpp"
#include "proptests/tests/judge/attention_samples.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

AttentionRow first_row(const AttentionCase& a) { return row_of(a, 0, 0, 0); }

struct Ideal {
  std::vector<double> out;
  double lse, entropy;

  AttentionValues values() const { return {out, lse, entropy}; }
};

AttentionOracle oracle_of(const AttentionTask& task, const AttentionRow& row) {
  const std::optional<EntropyDefinition> adaptive =
      task.op == Op::adaptive_attention ? std::optional(definition_of(task.contract)) : std::nullopt;
  return AttentionOracle({.query = row.query,
                          .keys = row.keys,
                          .values = row.values,
                          .value_size = row.value_size,
                          .scale = row.scale,
                          .visible = row.visible,
                          .items = row.visible.size()},
                         adaptive);
}

Ideal ideal_of(const AttentionTask& task, const AttentionRow& row) {
  const PrecisionScope precision(256);
  const AttentionOracle oracle = oracle_of(task, row);
  Ideal ideal;
  for (const Enclosure& value : oracle.output()) ideal.out.push_back(round_to(task.contract.output, value.midpoint()));
  ideal.lse = round_to(task.scalars, oracle.logsumexp().midpoint());
  ideal.entropy = round_to(task.scalars, oracle.entropy().midpoint());
  return ideal;
}

std::vector<AttentionCase> cases_of(Format format, int count) {
  AttentionOptions options = small_attention(60, 4096);
  options.format = format;
  options.score_unit = format == Format::f64 ? 0x1p-53 : 0x1p-24;
  return drawn_attention(options, count, 7, 100);
}

const ValueFinding* find(const RowVerdicts& verdicts, const std::string& claim) {
  const auto found = std::ranges::find(verdicts.findings, claim, &ValueFinding::claim);
  return found == verdicts.findings.end() ? nullptr : &*found;
}

Decision decision_of(const RowVerdicts& verdicts, const std::string& claim) {
  const ValueFinding* finding = find(verdicts, claim);
  return finding == nullptr ? Decision::undecided : finding->decision;
}

class AttentionJudge : public ::testing::TestWithParam<Format> {};

TEST_P(AttentionJudge, WhatAnIdealKernelReturnsHolds) {
  for (const Op op : {Op::attention, Op::adaptive_attention}) {
    for (const char* words : {"", "entropy=exact", "entropy=paper"}) {
      const AttentionTask task = attention_task(op, GetParam(), words);
      std::size_t with_sizes = 0;
      for (const AttentionCase& a : cases_of(GetParam(), 60)) {
        const AttentionRow row = first_row(a);
        const RowVerdicts verdicts = judge_attention(task, row, ideal_of(task, row).values());
        EXPECT_EQ(verdicts.findings.size(), 3u) << to_text(a);
        for (const ValueFinding& finding : verdicts.findings) {
          EXPECT_EQ(finding.decision, Decision::proved) << finding.claim << " of " << to_text(a);
        }
        with_sizes += verdicts.vacuity.judged > 0 ? 1 : 0;
      }
      // Few calls return nothing but zeros and what lies below the smallest normal number.
      EXPECT_GE(with_sizes, 50u);
    }
  }
}

// The exact value and so much of its threshold, rounded away from it where it is more than all, towards it where less.
double auxiliary(const Judgeable& value, double share) {
  const long double target =
      value.exact.value + static_cast<long double>(share) * static_cast<long double>(value.threshold);
  const auto got = static_cast<double>(target);
  const bool outside = std::fabs(share) > 1, above = share > 0;
  const bool is_above = static_cast<long double>(got) > target, is_below = static_cast<long double>(got) < target;
  const bool wrong_side = outside == above ? is_below : is_above;
  return wrong_side ? std::nextafter(got, outside == above ? infinity : -infinity) : got;
}

// The values have one column. The row keeps views of all three.
AttentionRow row_of_scalars(std::span<const double> query, std::span<const double> keys,
                            std::span<const double> values) {
  AttentionRow row;
  row.query = query;
  row.keys = keys;
  row.values = values;
  row.value_size = 1;
  row.visible.assign(values.size(), 1);
  return row;
}

// Keys whose scores rise: a running maximum may be rescaled 47 times, which no kernel has to use. RowJudge has the same
// row.
TEST(AttentionThresholds, GrantsMakeNoValueVacuousAndNoLogarithmUnresolved) {
  std::vector<double> keys;
  for (int j = 0; j < 48; ++j) keys.push_back(j / 4.0);
  const std::vector<double> query{1}, values(keys.size(), 1);
  const AttentionTask task = attention_task(Op::attention, Format::bf16, "acc=bf16 sum=sequential");
  const AttentionRow row = row_of_scalars(query, keys, values);
  const VisibleKeys visible(task.contract, row);
  const AttentionThresholds thresholds(task, row, visible);
  ASSERT_TRUE(thresholds.usable());
  const Judgeable output = thresholds.column(0);
  EXPECT_TRUE(is_vacuous(output.threshold, output.magnitude));
  EXPECT_FALSE(output.vacuous);
  // The scores are exact: B1 of the row of keys.
  const Statistics statistics = row_statistics<UpperBound>(RowOracle(keys), rescaling_count(task.contract, keys));
  const double all = upper(sum_error(task.contract, statistics));
  const double none = upper(sum_error(task.contract, statistics, Grants::none));
  const double resolution = thresholds.logsumexp().resolution;
  EXPECT_GE(resolution, none * (1 - 0x1p-30));  // as far as coarse() moves it
  EXPECT_LT(resolution, (none + all) / 2);
}

// The weight of the second key is e^-80, of which an arithmetic that flushes may lose 2^-126.
TEST(AttentionThresholds, ALargeValueOfALittleWeightMayBeOffByWhatIsFlushed) {
  const std::vector<double> query{1}, keys{0, -80}, values{0, 0x1p100};
  const AttentionTask task = attention_task(Op::attention, Format::f32, "");
  const AttentionRow row = row_of_scalars(query, keys, values);
  for (const auto& [off, expected] : {std::pair(0x1p-28, Decision::proved), std::pair(0x1p-12, Decision::violated)}) {
    Ideal got = ideal_of(task, row);
    got.out = {round_to(Format::f32, std::exp(-80) * 0x1p100 + off)};
    EXPECT_EQ(decision_of(judge_attention(task, row, got.values()), value_claims(Op::attention)[0]), expected) << off;
  }
}

// 64 factors of 2^122, whose sum no float holds, beside small ones: nothing that a kernel computes is near the range.
TEST(VisibleKeys, LargeFactorsAloneLeaveNoRange) {
  const std::vector<double> query(64, 0x1p122), keys(64, 0x1p-130), values{1};
  AttentionRow row = row_of_scalars(query, keys, values);
  const AttentionTask task = attention_task(Op::attention, Format::f32, "");
  EXPECT_FALSE(VisibleKeys(task.contract, row).may_overflow);
  row.query = keys;
  const std::vector<double> beyond(64, 0x1p127);
  row.keys = beyond;
  EXPECT_TRUE(VisibleKeys(task.contract, row).may_overflow);
}

// Each value in turn beyond its threshold by a hundredth of it, the others right.
TEST_P(AttentionJudge, AValueBeyondItsThresholdDoesNotHold) {
  for (const Op op : {Op::attention, Op::adaptive_attention}) {
    const AttentionTask task = attention_task(op, GetParam(), "");
    const std::vector<std::string> claims = value_claims(op);
    for (const AttentionCase& a : cases_of(GetParam(), 30)) {
      const AttentionRow row = first_row(a);
      const VisibleKeys visible(task.contract, row);
      const AttentionThresholds thresholds(task, row, visible);
      ASSERT_TRUE(thresholds.usable());
      for (const double share : {1.01, -1.01, 0.98}) {
        const auto moved = [&](const Judgeable& value) { return auxiliary(value, share); };
        const Decision expected = std::fabs(share) < 1 ? Decision::proved : Decision::violated;
        const std::size_t column = row.value_size / 2;
        Ideal got = ideal_of(task, row);
        got.out[column] = moved(thresholds.column(column));
        EXPECT_EQ(decision_of(judge_attention(task, row, got.values()), claims[0]), expected) << to_text(a);
        if (expected == Decision::violated) {
          EXPECT_EQ(find(judge_attention(task, row, got.values()), claims[0])->item, column);
        }
        got = ideal_of(task, row);
        got.lse = moved(thresholds.logsumexp());
        EXPECT_EQ(decision_of(judge_attention(task, row, got.values()), claims[1]), expected) << to_text(a);
        got = ideal_of(task, row);
        got.entropy = moved(thresholds.entropy());
        // Of one key it is 0, whatever the threshold grants for the score's error (ResultLimits).
        if (visible.items.size() == 1 && expected == Decision::proved) continue;
        EXPECT_EQ(decision_of(judge_attention(task, row, got.values()), claims[2]), expected) << to_text(a);
      }
    }
  }
}

TEST_P(AttentionJudge, NoNumberIsNoValue) {
  const AttentionTask task = attention_task(Op::attention, GetParam(), "");
  const AttentionCase a = cases_of(GetParam(), 3).back();
  const AttentionRow row = first_row(a);
  for (const double wrong : {nan, infinity, -infinity}) {
    Ideal got = ideal_of(task, row);
    got.out[0] = got.lse = got.entropy = wrong;
    for (const std::string& claim : value_claims(Op::attention)) {
      EXPECT_EQ(decision_of(judge_attention(task, row, got.values()), claim), Decision::violated) << claim;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, AttentionJudge, ::testing::ValuesIn(wide_formats),
                         [](const auto& info) { return std::string(properties(info.param).name); });

// Two keys of scores 0 and 1, with values 0 and 1.
struct TwoKeys {
  std::vector<double> query{1}, keys{0, 1}, values{0, 1};

  AttentionRow row(std::vector<std::uint8_t> visible) const {
    return {.query = query, .keys = keys, .values = values, .value_size = 1, .scale = 1, .visible = std::move(visible)};
  }
};

TEST(AttentionJudge, WhatIsNotAskedForIsNotJudged) {
  const AttentionTask task = attention_task(Op::attention, Format::f32, "");
  const std::vector<double> out{0x1.764e8p-1};
  const RowVerdicts verdicts = judge_attention(task, TwoKeys().row({1, 1}), {out, std::nullopt, std::nullopt});
  ASSERT_EQ(verdicts.findings.size(), 1u);
  EXPECT_EQ(verdicts.findings[0].claim, "kernel.attention.output");
}

TEST(AttentionJudge, WhatRepeatsAnEarlierCallIsNotJudgedAgain) {
  AttentionCase a;
  a.shape = {.batch = 2, .kv_heads = 1, .group = 1, .queries = 2, .keys = 2, .dim = 1, .value_dim = 1};
  a.queries = a.keys = a.values = a.gradients = {1, 2, 3, 4};
  const AttentionOp::Outputs before(3, std::vector<double>(4));
  const auto judged = [&](Op op, const AttentionOp::Outputs& got, bool unchanged) {
    std::size_t rows = 0;
    const auto always = [](std::size_t, std::size_t, std::size_t) { return true; };
    const auto same = [&](std::size_t, std::size_t, std::size_t) { return unchanged; };
    op.attention_op().judge(attention_task(op), a, got, {always, &before, same},
                            [&](std::size_t, const RowVerdicts&) { ++rows; });
    return rows;
  };
  EXPECT_EQ(judged(Op::attention, before, true), 0u);
  EXPECT_EQ(judged(Op::attention, before, false), 4u);
  EXPECT_EQ(judged(Op::attention_backward, before, true), 0u);
  EXPECT_EQ(judged(Op::attention_backward, before, false), 8u);  // queries and keys
  for (std::size_t k = 0; k < before.size(); ++k) {
    AttentionOp::Outputs got = before;
    got[k].back() = -0.0;
    EXPECT_EQ(judged(Op::attention, got, true), 1u) << k;
    EXPECT_EQ(judged(Op::attention_backward, got, true), 4u) << k;  // all of the second batch
  }
}

TEST(AttentionJudge, OfMaskedKeysNothingIsLookedAt) {
  TwoKeys two;
  two.keys[0] = two.values[0] = nan;
  const std::vector<double> out{1};
  const RowVerdicts verdicts =
      judge_attention(attention_task(Op::attention, Format::f32, ""), two.row({0, 1}), {out, 1.0, 0.0});
  EXPECT_EQ(verdicts.findings.size(), 3u);
  for (const ValueFinding& finding : verdicts.findings) EXPECT_EQ(finding.decision, Decision::proved) << finding.claim;
}

TEST(AttentionJudge, AQueryThatSeesNothingIsAsDeclared) {
  const auto verdict = [](const char* masked, double out, std::optional<double> lse, std::optional<double> entropy) {
    const AttentionTask task = attention_task(Op::attention, Format::f32, std::string("masked=") + masked);
    const std::vector<double> values{out};
    return decision_of(judge_attention(task, TwoKeys().row({0, 0}), {values, lse, entropy}), "kernel.masked_row");
  };
  const double two = 0x1.62e43p-1;  // ln 2
  EXPECT_EQ(verdict("zero", 0, -infinity, 0.0), Decision::proved);
  EXPECT_EQ(verdict("nan", nan, -infinity, nan), Decision::proved);
  EXPECT_EQ(verdict("uniform", 0.5, -infinity, two), Decision::proved);
  EXPECT_EQ(verdict("uniform", 0.5, -infinity, 0.0), Decision::proved);
  EXPECT_EQ(verdict("nan", nan, std::nullopt, std::nullopt), Decision::proved);
  for (const char* masked : {"zero", "nan", "uniform"}) {
    EXPECT_EQ(verdict(masked, 0.25, -infinity, 0.0), Decision::violated) << masked;
    EXPECT_EQ(verdict(masked, masked == std::string("zero") ? 0 : nan, 0.0, std::nullopt), Decision::violated);
  }
  EXPECT_EQ(verdict("zero", nan, -infinity, 0.0), Decision::violated);
  EXPECT_EQ(verdict("nan", 0, -infinity, nan), Decision::violated);
  EXPECT_EQ(verdict("nan", nan, -infinity, 0.0), Decision::violated);
  EXPECT_EQ(verdict("nan", nan, infinity, nan), Decision::violated);
}

TEST(AttentionJudge, AQueryWithoutKeysIsAsAFullyMaskedOne) {
  const AttentionRow row{.query = {}, .keys = {}, .values = {}, .value_size = 1, .scale = 1, .visible = {}};
  const auto verdict = [&](const char* masked, double out, double entropy) {
    const AttentionTask task = attention_task(Op::attention, Format::f32, std::string("masked=") + masked);
    const std::vector<double> values{out};
    return decision_of(judge_attention(task, row, {values, -infinity, entropy}), "kernel.masked_row");
  };
  EXPECT_EQ(verdict("nan", nan, nan), Decision::proved);
  EXPECT_EQ(verdict("nan", nan, 0), Decision::violated);
  EXPECT_EQ(verdict("zero", 0, 0), Decision::proved);
  EXPECT_EQ(verdict("zero", 0, nan), Decision::violated);
  EXPECT_EQ(verdict("zero", -0.0, 0), Decision::violated);
  EXPECT_EQ(verdict("zero", 0, -0.0), Decision::violated);
}

TEST(AttentionJudge, TheValueShownIsOneThatIsNotAsDeclared) {
  const AttentionRow row{.query = {}, .keys = {}, .values = {}, .value_size = 3, .scale = 1, .visible = {}};
  const std::vector<double> values{0, -0.0, 0};
  const AttentionTask task = attention_task(Op::attention, Format::f32, "masked=zero");
  const RowVerdicts verdicts = judge_attention(task, row, {values, std::nullopt, std::nullopt});
  ASSERT_EQ(verdicts.findings.size(), 1u);
  EXPECT_EQ(verdicts.findings[0].decision, Decision::violated);
  EXPECT_TRUE(std::signbit(verdicts.findings[0].got));
}

TEST(AttentionJudge, AScoreThatMayErrByAnythingPromisesNothing) {
  // 10^6 - 10^6: the products' own roundings are as large as the scores apart.
  const std::vector<double> query{1e6, 1e6}, keys{1e6, -1e6, 1e6, -1e6 + 1}, values{0, 1}, out{0.5};
  const AttentionRow row{
      .query = query, .keys = keys, .values = values, .value_size = 1, .scale = 1, .visible = {1, 1}};
  const RowVerdicts verdicts =
      judge_attention(attention_task(Op::attention, Format::f32, ""), row, {out, std::nullopt, std::nullopt});
  EXPECT_TRUE(verdicts.vacuity.too_many());
}

TEST(AttentionJudge, OneLongCallDoesNotMakeAJudgementVacuous) {
  VacuityCount count{.judged = 200000, .vacuous = 1000};
  count.add_call({.judged = 20000, .vacuous = 10000});
  EXPECT_EQ(count.judged, 220000U);
  EXPECT_EQ(count.vacuous, 2024U);
  EXPECT_FALSE(count.too_many());
  count.add_call({.judged = 300, .vacuous = 300});
  EXPECT_TRUE(count.too_many());
}

TEST(AttentionJudge, NarrowWeightsNeedTheirWord) {
  const std::vector<double> query{1}, keys{0, 0.5}, values{1, 0};
  const AttentionRow row{
      .query = query, .keys = keys, .values = values, .value_size = 1, .scale = 1, .visible = {1, 1}};
  // e^-0.5 as bf16 holds it, over the sum of the exact ones.
  const std::vector<double> out{static_cast<float>(round_to(Format::bf16, std::exp(-0.5)) / (1 + std::exp(-0.5)))};
  const auto decision = [&](const char* words) {
    const AttentionTask task = attention_task(Op::attention, Format::f32, words);
    return decision_of(judge_attention(task, row, {out, std::nullopt, std::nullopt}), "kernel.attention.output");
  };
  EXPECT_EQ(decision(""), Decision::violated);
  EXPECT_EQ(decision("weights=f16"), Decision::violated);
  EXPECT_EQ(decision("weights=bf16"), Decision::proved);
}

// The sum of a query's products is beyond the doubles, and scaled it is not: a kernel's own sum overflows, so that no
// contract promises a value, but its exact log-sum-exp is known, and is not infinite.
TEST(AttentionJudgeOfLargeProducts, ScoresThatTheScaleMakesSmallAreKnown) {
  const double largest = std::numeric_limits<double>::max();
  for (const char* words : {"", "exp=E:5000,A:60"}) {
    for (const double scale : {1e-300, 1e-308, 0x1p-1020}) {
      const AttentionTask task = attention_task(Op::attention, Format::f64, words);
      const std::vector<double> query{largest, largest}, key{2, 2}, value{1};
      const AttentionRow row{query, key, value, 1, scale, {1}};
      const std::vector<double> out{1};
      const double lse = static_cast<double>(4 * static_cast<long double>(largest) * scale);
      const RowVerdicts right = judge_attention(task, row, {out, lse, 0.0});
      for (const ValueFinding& finding : right.findings) EXPECT_EQ(finding.decision, Decision::proved) << finding.claim;
      const RowVerdicts wrong = judge_attention(task, row, {out, infinity, 0.0});
      EXPECT_EQ(decision_of(wrong, "kernel.attention.lse"), Decision::violated) << words << " " << scale;
    }
  }
}

}  // namespace
}  // namespace softcheck::proptests
