// Judging that takes long asks whether to go on: within a row, within a call, and between properties.
#include <ctime>

#include "judge/ops/attention/attention_gradient.hpp"
#include "judge/ops/attention/attention_repeats.hpp"
#include "judge/ops/rows/call_judge.hpp"
#include "judge/ops/rows/gradient_inputs.hpp"
#include "judge/ops/rows/row_judge.hpp"
#include "judge/sandbox/watched_kernel.hpp"
#include "numerics/enclosures/interruption.hpp"
#include "numerics/oracles/cross_entropy.hpp"
#include "proptests/engine/property.hpp"
#include "proptests/tests/judge/attention_samples.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

double thread_seconds() {
  std::timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// The longest time of this thread's processor between two questions whether to end, until the work is done or has
// taken `enough` seconds. Other work on the machine does not count.
double longest_silence(const std::function<void()>& work, double enough = 2) {
  const double start = thread_seconds();
  double last = start, longest = 0;
  const std::function<bool()> asked = [&] {
    const double now = thread_seconds();
    longest = std::max(longest, now - last);
    last = now;
    return now - start > enough;
  };
  try {
    const InterruptionScope scope(asked);
    work();
  } catch (const Interrupted&) {
  }
  return std::max(longest, thread_seconds() - last);
}

std::vector<double> many_logits(std::size_t n) {
  std::vector<double> logits;
  for (std::size_t i = 0; i < n; ++i) logits.push_back(round_to(Format::f32, 4 * signed_unit(hashed(7, i))));
  return logits;
}

// A softcap, label smoothing and class weights where the op has them.
constexpr std::uint64_t many_options = 127;

void judge_long_row(Op op, std::size_t n) {
  const Contract contract = parse_contract("", Format::f32, Format::f32);
  const std::vector<double> drawn = many_logits(n);
  const std::vector<std::vector<double>> inputs = op.rows().input_values(Format::f32, drawn, many_options);
  const std::span<const std::vector<double>> auxiliary = std::span(inputs).subspan(1);
  const Attributes attributes = op.rows().attributes(many_options, n);
  if (has_one_value(op)) {
    const auto each = [&](const std::function<void(const RowInputs&)>& visit) {
      for (int r = 0; r < 8; ++r) visit({contract, inputs[0], 1, auxiliary, attributes});
    };
    judge_call(op, {contract, attributes, each}, 0.25);
    return;
  }
  CountedWeights counted;
  for (int r = 0; r < 4096; ++r) counted.add(1);
  // Wrong, and nearly right: each item of these needs the most work.
  std::vector<double> got(op.rows().values(n, many_options));
  for (std::size_t i = 0; i < got.size(); ++i) got[i] = round_to(Format::f32, 1.0 / static_cast<double>(1 + i % n));
  judge_values(op, contract, inputs[0], 1, got, auxiliary, attributes, counted);
}

// Labelled full: JudgeInterruption.TheLongestRowOfEachOpAsksWithinASecond
TEST(JudgeInterruption, TheLongestRowOfEachOpAsksWithinASecond) {
  for (const Op op : all_ops()) {
    if (op->is_attention()) continue;
    const double silence = longest_silence([&] { judge_long_row(op, std::size_t{1} << 17); });
    EXPECT_LT(silence, 1) << to_string(op);
  }
}

AttentionCase long_attention(std::size_t queries, std::size_t keys, std::size_t dim) {
  AttentionCase a;
  a.shape.queries = queries;
  a.shape.keys = keys;
  a.shape.dim = a.shape.value_dim = dim;
  const auto drawn = [](std::size_t count, std::uint64_t seed) {
    std::vector<double> values;
    for (std::size_t i = 0; i < count; ++i) values.push_back(round_to(Format::f32, signed_unit(hashed(seed, i))));
    return values;
  };
  a.queries = drawn(queries * dim, 1);
  a.keys = drawn(keys * dim, 2);
  a.values = drawn(keys * dim, 3);
  a.gradients = drawn(queries * dim, 4);
  return a;
}

// Labelled full: JudgeInterruption.TheLargestAttentionAsksWithinASecond
TEST(JudgeInterruption, TheLargestAttentionAsksWithinASecond) {
  for (const Op op : {Op(Op::attention), Op(Op::adaptive_attention)}) {
    const AttentionCase a = long_attention(1, 65536, 16);
    const std::vector<double> wrong(16, 0.3);
    const double silence = longest_silence([&] {
      judge_attention(attention_task(op, Format::f32, ""), row_of(a, 0, 0, 0), {wrong, 1.5, 2.5});
    });
    EXPECT_LT(silence, 1) << to_string(op);
  }
  const AttentionCase a = long_attention(128, 1024, 16);
  const std::vector<double> dq(a.queries.size(), 0.3), dk(a.keys.size(), 0.3), dv(a.values.size(), 0.3);
  const auto ignore = [](std::size_t, const RowVerdicts&) {};
  const double silence = longest_silence([&] {
    judge_attention_gradient(gradient_task(Format::f32, ""), gradient_group(a, 0, 0), {dq, dk, dv}, ignore, ignore);
  });
  EXPECT_LT(silence, 1);
}

// 65,536 batches of keys that all differ: two by two they were compared for a minute.
TEST(JudgeInterruption, HeadsAreComparedInTimeInProportionToTheirNumber) {
  AttentionCase a;
  a.shape.batch = 65536;
  a.shape.queries = a.shape.keys = a.shape.dim = a.shape.value_dim = 1;
  for (std::size_t b = 0; b < a.shape.batch; ++b) a.keys.push_back(static_cast<double>(b / 2));
  a.queries.assign(a.shape.batch, 1);
  a.values.assign(a.shape.batch, 1);
  const std::vector<std::vector<double>> got{a.values};
  const double start = thread_seconds();
  RepeatedRows rows(a, got);
  EXPECT_LT(thread_seconds() - start, 1);
  EXPECT_FALSE(rows.repeats(65534, 0, 0));
  EXPECT_TRUE(rows.repeats(65535, 0, 0));
}

TEST(JudgeInterruption, AScopeEndsTheWorkInsideItAndNoneOutside) {
  const std::function<bool()> always = [] { return true; }, none;
  const auto work = [] {
    for (int i = 0; i < 10'000; ++i) exp(Enclosure(0.5));
  };
  const auto work_within = [&](const std::function<bool()>& asked) {
    const InterruptionScope scope(asked);
    // Questions are 10 ms apart.
    const double start = thread_seconds();
    while (thread_seconds() - start < 0.1) work();
  };
  EXPECT_THROW(work_within(always), Interrupted);
  EXPECT_NO_THROW(work_within(none));
  EXPECT_NO_THROW(work());
  try {
    const InterruptionScope outer(always);
    work_within(none);
  } catch (const Interrupted&) {
    ADD_FAILURE() << "an empty question does not hide the outer one";
  }
}

double seconds_of_loss(std::size_t n) {
  const std::vector<double> logits = many_logits(n);
  double least = 1e9;
  for (int k = 0; k < 3; ++k) {
    const double start = thread_seconds();
    const PrecisionScope precision(64);
    const CrossEntropyOracle oracle(logits, 0, {.label_smoothing = 0.1, .softcap = 30});
    EXPECT_TRUE(oracle.loss().certainly_positive());
    least = std::min(least, thread_seconds() - start);
  }
  return least;
}

// The first check fails at once; every simpler case would take hours.
TEST(JudgeInterruption, AFailureIsReportedThoughShrinkingItIsAbandoned) {
  int checks = 0;
  PropertyOf<RowCase> property{"Kernel", "Fails", {"kernel.returns"}, row_cases(rows_of_f32()), [&](const RowCase&) {
                                 if (++checks > 1) {
                                   for (std::uint64_t i = 0; i < (std::uint64_t{1} << 40); ++i) exp(Enclosure(0.5));
                                 }
                                 return Certificates{observed("kernel.returns", CallDescription{}, 1)};
                               }};
  RunOptions options;
  options.max_size = 100;
  options.cases = 1;
  options.interrupted = options.abandoned = [&] { return checks > 1; };
  const Outcome outcome = Property(std::move(property)).run(options);
  ASSERT_TRUE(outcome.counterexample);
  EXPECT_EQ(outcome.verdict, Verdict::violated);
  EXPECT_TRUE(outcome.interrupted);
  EXPECT_EQ(checks, 2);
}

// A run that was cut goes on with its next case, and draws the same ones.
TEST(JudgeInterruption, AResumedRunChecksTheCasesThatWereLeft) {
  std::vector<std::string> met;
  const PropertyOf<RowCase> property{
      "Kernel", "Holds", {"kernel.returns"}, row_cases(rows_of_f32()), [&](const RowCase& c) {
        met.push_back(to_text(c));
        return Certificates{observed("kernel.returns", CallDescription{}, 0)};
      }};
  RunOptions options;
  options.cases = 30;
  EXPECT_EQ(Property(property).run(options).verdict, Verdict::proved);
  const std::vector<std::string> whole = std::exchange(met, {});
  RunOptions part = options;
  part.interrupted = [&] { return met.size() == 11; };
  Outcome outcome = Property(property).run(part);
  EXPECT_TRUE(outcome.interrupted);
  EXPECT_EQ(outcome.cases, 11);
  EXPECT_EQ(outcome.wanted, 30);
  outcome = Property(property).resume(options, std::move(outcome));
  EXPECT_EQ(outcome.verdict, Verdict::proved);
  EXPECT_FALSE(outcome.interrupted);
  EXPECT_EQ(outcome.claims.at("kernel.returns").decided, 30u);
  EXPECT_EQ(met, whole);
}

// Four times as many classes took sixteen times as long.
TEST(JudgeInterruption, ALossWithSoftcapAndSmoothingTakesTimeInProportionToItsClasses) {
  EXPECT_LT(seconds_of_loss(16384), 9 * seconds_of_loss(4096));
}

// The sum of a call's weights was added up for each row and for each item.
TEST(JudgeInterruption, TheWeightsOfACallAreAddedUpOnce) {
  CountedWeights counted;
  for (int r = 0; r < 1'000'000; ++r) counted.add(r % 2 == 0 ? 1 : 0.5);
  EXPECT_EQ(counted.size(), 1'000'000u);
  EXPECT_EQ(static_cast<double>(counted.sum()), 750'000);
  const double start = thread_seconds();
  for (int k = 0; k < 1000; ++k) {
    const PrecisionScope precision(k % 2 == 0 ? 64 : 113);
    ASSERT_TRUE(counted.exact_sum().contains(750'000));
  }
  EXPECT_LT(thread_seconds() - start, 0.5);
  counted.add(0.25);
  EXPECT_TRUE(counted.exact_sum().contains(750'000.25));
}

TEST(JudgeInterruption, EqualRowsWithEqualResultsAreJudgedOnce) {
  RowVerdictCache known;
  int judged = 0;
  const auto judge = [&] {
    RowVerdicts verdicts;
    verdicts.vacuity.rows = static_cast<std::size_t>(++judged);
    return verdicts;
  };
  const std::vector<std::vector<double>> inputs{{1, 2}, {3}}, moved{{1}, {2, 3}}, minus_zero{{-0.0}}, zero{{0.0}};
  const std::vector<double> got{0.5}, other{0.25};
  EXPECT_EQ(known.verdicts(inputs, got, judge).vacuity.rows, 1u);
  EXPECT_EQ(known.verdicts(inputs, got, judge).vacuity.rows, 1u);
  EXPECT_EQ(known.verdicts(inputs, other, judge).vacuity.rows, 2u);
  EXPECT_EQ(known.verdicts(moved, got, judge).vacuity.rows, 3u);
  EXPECT_EQ(known.verdicts(zero, got, judge).vacuity.rows, 4u);
  EXPECT_EQ(known.verdicts(minus_zero, got, judge).vacuity.rows, 5u);
  EXPECT_EQ(known.verdicts(inputs, got, judge).vacuity.rows, 1u);
}

}  // namespace
}  // namespace softcheck::proptests
