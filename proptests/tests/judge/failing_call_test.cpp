// The call that a failure shows: its tensors, the NaN that a property put in, and the query of attention that failed.
#include "judge/call/evidence.hpp"
#include "judge/ops/attention/attention_poison.hpp"
#include "judge/sandbox/watched_kernel.hpp"
#include "judge/trial/plainest_case.hpp"
#include "judge/trial/wrong_value.hpp"
#include "judge/verdict/certificate_text.hpp"
#include "proptests/tests/judge/attention_samples.hpp"
#include "proptests/tests/judge/kernel_samples.hpp"
#include "proptests/tests/judge/row_samples.hpp"

namespace softcheck::proptests {
namespace {

// A counterexample's tensors are those that the kernel was called with, and its line says what a mask hides. In the
// domain nan=visible NaN is asked where nothing hides it, and stands behind no mask.

KernelJudgement judged_property(Op op, const char* kernel, const char* domain, const char* property) {
  return judged(zoo_subject(kernel, {.op = op, .contract = "sum=sequential masked=nan", .domain = domain}), {property});
}

TEST(FailingCall, HasTheNumbersBehindTheMask) {
  const double largest = numerics::properties(Format::f32).largest;
  for (const std::string domain : {"finite", "nan=visible"}) {
    const KernelJudgement judgement =
        judged_property(Op::softmax, "mutant_mask_value_minus_1e4", domain.c_str(), "AMaskedItemIsADeletedOne");
    ASSERT_EQ(judgement.verdict, ReportVerdict::fail);
    ASSERT_TRUE(judgement.passed);
    const std::vector<double>& logits = judgement.passed->inputs.at(0).values;
    const std::vector<double>& visible = judgement.passed->inputs.at(1).values;
    ASSERT_EQ(logits.size(), visible.size());
    std::string text;
    for (const numerics::Certificate& failed : judgement.counterexample->failed) text += failed.witness;
    EXPECT_THAT(text, HasSubstr("behind the mask: item "));
    for (std::size_t i = 0; i < logits.size(); ++i) {
      if (visible[i] != 0) continue;
      EXPECT_EQ(std::fabs(logits[i]), largest);
      EXPECT_THAT(text, HasSubstr("item " + std::to_string(i) + " " + numerics::hex_float(logits[i])));
    }
  }
}

TEST(FailingCall, HasTheNanThatAPropertyPutsIn) {
  const KernelJudgement judgement =
      judged_property(Op::attention, "mutant_attention_nan_swallowed", "", "ANanReachesWhoeverMeetsIt");
  ASSERT_EQ(judgement.verdict, ReportVerdict::fail);
  ASSERT_TRUE(judgement.passed);
  const auto nans = [](const InputTensor& input) {
    return std::ranges::count_if(decode(input.place, encode(input)), [](double x) { return std::isnan(x); });
  };
  std::ptrdiff_t all = 0;
  for (const InputTensor& input : judgement.passed->inputs) all += nans(input);
  EXPECT_EQ(all, 1);
}

KernelJudgement judged_in(const char* kernel, const char* domain) {
  return judged(zoo_subject(kernel, {.op = Op::attention, .contract = "sum=sequential masked=nan", .domain = domain}),
                {"AMaskedItemIsADeletedOne", "ALaterKeyIsNotThere", "ANanReachesWhoeverMeetsIt"});
}

std::set<std::string> broken_claims(const KernelJudgement& judgement) {
  std::set<std::string> claims;
  for (const PropertyFinding& property : judgement.properties) {
    if (!property.outcome.counterexample) continue;
    for (const numerics::Certificate& failed : property.outcome.counterexample->failed) claims.insert(failed.claim);
  }
  return claims;
}

// torch's attention, which finite cannot accuse.
TEST(VisibleNan, ThatBecomesANumberIsAFailure) {
  EXPECT_EQ(broken_claims(judged_in("mutant_attention_nan_of_few_keys", "nan=visible")),
            std::set<std::string>{"kernel.nan_row"});
  EXPECT_TRUE(broken_claims(judged_in("mutant_attention_nan_of_few_keys", "finite")).empty());
}

// A mask that is added: a NaN behind it is no less NaN.
TEST(VisibleNan, StandsBehindNoMask) {
  EXPECT_TRUE(broken_claims(judged_in("attention_correct_mask_added", "nan=visible")).empty());
  EXPECT_FALSE(broken_claims(judged_in("attention_correct_mask_added", "")).empty());
}

TEST(VisibleNan, IsInAKeyThatEveryQuerySees) {
  AttentionCase a;
  from_text(
      "attention f32 batch=1 kv=1 group=1 queries=2 keys=3 dim=1 values=1 scale=0x1p+0 causal=0 outputs=1 layout=0 "
      "mask=heads:101110 q 0x1p+0*2 k 0x0p+0*3 v 0x1p+0*3",
      a);
  for (const auto position : {NanPlace::Position::first, NanPlace::Position::middle, NanPlace::Position::last}) {
    a.nan = NanPlace{NanPlace::Tensor::key, position, NanPlace::Bits::quiet}.number();
    const PoisonedCase poisoned(a, true);
    EXPECT_TRUE(std::isnan(poisoned.attention.keys[0]));
    EXPECT_FALSE(std::isnan(poisoned.attention.keys[1]) || std::isnan(poisoned.attention.keys[2]));
  }
  a.mask = {1, 0, 0, 0, 1, 1};  // no key is seen by both
  EXPECT_EQ(PoisonedCase(a, true).place.tensor, NanPlace::Tensor::query);
  EXPECT_EQ(PoisonedCase(a).place.tensor, NanPlace::Tensor::key);
}

// What a failure of attention says: the query that failed, alone where it fails alone, and the value that was got.

std::vector<AttentionCase> drawn_cases(int count) {
  AttentionOptions options = small_attention(60);
  options.layouts = true;
  return drawn_attention(options, count, 23, 101);
}

std::vector<double> numbers(std::span<const double> of) { return {of.begin(), of.end()}; }

// The same query, the same keys and values as far as they go, and nothing behind them that was visible.
void expect_same_row(const AttentionRow& part, const AttentionRow& whole, const std::string& text) {
  EXPECT_EQ(numbers(part.query), numbers(whole.query)) << text;
  EXPECT_EQ(numbers(part.keys), numbers(whole.keys.first(part.keys.size()))) << text;
  EXPECT_EQ(numbers(part.values), numbers(whole.values.first(part.values.size()))) << text;
  std::vector<std::uint8_t> visible = whole.visible;
  while (visible.size() > part.visible.size() && visible.back() == 0) visible.pop_back();
  EXPECT_EQ(part.visible, visible) << text;
}

TEST(WatchedKernel, BitsAreTheSameWhereBothAreNansOrEqual) {
  using Numbers = std::vector<double>;
  EXPECT_TRUE(same_bits(Numbers{1, nan, -0.0}, Numbers{1, -nan, -0.0}));
  EXPECT_FALSE(same_bits(Numbers{nan}, Numbers{1}));
  EXPECT_FALSE(same_bits(Numbers{1}, Numbers{nan}));
  EXPECT_FALSE(same_bits(Numbers{0.0}, Numbers{-0.0}));
  EXPECT_FALSE(same_bits(Numbers{1}, Numbers{1, 1}));
}

TEST(AttentionFailure, NamesItsQueryAlone) {
  std::size_t causal = 0, masked = 0, grouped = 0;
  for (const AttentionCase& a : drawn_cases(300)) {
    const AttentionShape& s = a.shape;
    const std::size_t rows = s.batch * s.heads() * s.queries, row = rows * 2 / 3;
    if (rows == 1) continue;
    const Certificates failed{observed("kernel.attention.output", describe_call(a, "", row), 1)};
    const std::size_t i = row % s.queries, h = row / s.queries % s.heads(), b = row / s.queries / s.heads();
    const std::vector<AttentionCase> named = cases_named_by(a, failed, Domain{});
    if (a.causal && i + s.keys < s.queries) {
      EXPECT_TRUE(named.empty());
      continue;
    }
    ASSERT_EQ(named.size(), 3u) << to_text(a);
    for (const AttentionCase& one : named) {
      EXPECT_TRUE(admits({.blind_queries = true}, one)) << to_text(one);
      expect_same_row(row_of(one, 0, 0, one.shape.queries - 1), row_of(a, b, h, i), to_text(a));
    }
    EXPECT_EQ(named[0].shape.queries, 1u);
    EXPECT_EQ(named[0].layout, 0u);
    EXPECT_EQ(named[1].layout, a.layout);
    EXPECT_EQ(named[2].shape.queries, i + 1);
    causal += a.causal ? 1 : 0;
    masked += a.mask.empty() ? 0 : 1;
    grouped += s.group > 1 ? 1 : 0;
  }
  for (const std::size_t count : {causal, masked, grouped}) EXPECT_GE(count, 10u);
}

TEST(AttentionFailure, OfACallThatHoldsNamesNothing) {
  for (const AttentionCase& a : drawn_cases(20)) {
    EXPECT_TRUE(cases_named_by(a, {observed("kernel.attention.output", describe_call(a, "", 0), 0)}, Domain{}).empty());
    EXPECT_TRUE(cases_named_by(a, {observed("kernel.attention.output", describe_call(a, ""), 1)}, Domain{}).empty());
    Domain none = parse_domain("queries>=100000", true);
    EXPECT_TRUE(cases_named_by(a, {observed("kernel.attention.output", describe_call(a, "", 0), 1)}, none).empty());
  }
}

KernelJudgement judged_attention(const std::string& symbol) {
  return judged(zoo_subject(symbol, {.op = Op::attention, .contract = "entropy=exact"}));
}

TEST(AttentionFailure, ShrinksOnFromItsQuery) {
  const KernelJudgement judgement = judged_attention("mutant_attention_scale_twice");
  ASSERT_TRUE(judgement.counterexample);
  AttentionCase smallest;
  from_text(judgement.counterexample->case_text, smallest);
  EXPECT_EQ(smallest.shape.queries * smallest.shape.heads() * smallest.shape.batch, 1u);
  EXPECT_LE(smallest.shape.keys, 2u);
  EXPECT_LE(smallest.shape.dim, 2u);
}

TEST(AttentionFailure, ShowsTheNumberWhereNanWasDue) {
  const KernelJudgement judgement = judged_attention("mutant_attention_nan_swallowed");
  ASSERT_TRUE(judgement.counterexample);
  const auto& failed = judgement.counterexample->failed;
  const auto nan_row = std::ranges::find(failed, "kernel.nan_row", &numerics::Certificate::claim);
  ASSERT_NE(nan_row, failed.end());
  const KernelEvidence* evidence = evidence_of(*nan_row);
  ASSERT_NE(evidence, nullptr);
  ASSERT_TRUE(evidence->asked.row);
  ASSERT_TRUE(evidence->value);
  EXPECT_EQ(evidence->value->due, "NaN");
  EXPECT_FALSE(std::isnan(evidence->value->got));
}

TEST(FailingCall, AnEmptyOneThatCrashesNamesTheDomainWithoutIt) {
  const auto cause = [](Op op, const std::string& case_text) {
    numerics::Certificate failed;
    failed.claim = "kernel.returns";
    KernelEvidence evidence;
    evidence.asked.case_text = case_text;
    evidence.ending = CallEnding{CallEnd::crashed, "signal 8"};
    return cause_of(zoo_subject("f", {.op = op}), with_evidence(failed, evidence));
  };
  const auto without = [](const std::string& words) {
    return "cause: the call is empty; the domain " + words + " leaves such calls out";
  };
  const std::string rest = " theta=0x1p+0 mask=none";
  EXPECT_EQ(cause(Op::softmax, "matrix f32 columns=0" + rest + " rows=3 ;"), without("n>=1"));
  EXPECT_EQ(cause(Op::softmax, "matrix f32 columns=5" + rest), without("rows>=1"));
  EXPECT_EQ(cause(Op::softmax, "matrix f32 columns=0" + rest), without("n>=1 rows>=1"));
  EXPECT_EQ(cause(Op::softmax, "row f32 theta=0x1p+0"), without("n>=1"));
  EXPECT_EQ(cause(Op::softmax, "row f32 theta=0x1p+0 0x0p+0"), "");
  EXPECT_EQ(cause(Op::softmax, "load"), "");
  AttentionCase attention;
  attention.shape.keys = 0;
  attention.queries = {1};
  EXPECT_EQ(cause(Op::attention, to_text(attention)), without("keys>=1"));
  // As large calls and Python's are shown, without numbers.
  const std::string sizes = " keys=2 dim=1 values=1 scale=0x1p+0 causal=0 outputs=1 layout=0";
  EXPECT_EQ(cause(Op::attention, "attention f32 batch=1 kv=1 group=1 queries=0" + sizes), without("queries>=1"));
  EXPECT_EQ(cause(Op::attention, "attention f32 batch=1 kv=1 group=1 queries=3" + sizes), "");
}

}  // namespace
}  // namespace softcheck::proptests
