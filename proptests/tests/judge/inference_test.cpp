// --infer in domains of long rows, of many heads, of causal calls without keys and of formats without infinities; and
// what its pass means: the dtype's own arithmetic, weaker words that most rows need, or words that hide a bug.
#include <cfloat>

#include "judge/inference/contract_inference.hpp"
#include "proptests/tests/judge/kernel_samples.hpp"
#include "proptests/tests/judge/zoo_rows.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

// The exponential of item i among n, as a kernel has it.
using Weight = std::function<float(float argument, std::int64_t i, std::int64_t n, double theta)>;

constexpr const char* small_rows = "n>=1 n<=64 rows<=8 nomask compact";

KernelSubject graded_softmax(Weight weight, const char* domain = small_rows) {
  const auto sum = [](std::span<float> weights) {
    float total = 0;
    for (const float one : weights) total += one;
    return total;
  };
  return own_subject([=](const softcheck_call* call) { return softmax_by(*call, weight, sum); }, {.domain = domain});
}

Inference inferred_grade(const KernelSubject& subject) {
  JudgeOptions options = quick_options({}, 8);
  options.max_length = 256;
  return infer_contract(subject, options);
}

std::string reported_of(const Inference& inference) {
  std::string text = inference.summary();
  for (const InferredWord& word : inference.words) text += "\n" + word.word + ": " + word.why;
  return text;
}

// Labelled full: InferGrade.*
TEST(InferGrade, OwnArithmeticIsAPlainPass) {
  const Inference inference =
      inferred_grade(graded_softmax([](float x, std::int64_t, std::int64_t, double) { return std::exp(x); }));
  ASSERT_TRUE(inference.contract) << inference.failure;
  EXPECT_TRUE(inference.grade.is_own()) << reported_of(inference);
  EXPECT_EQ(inference.summary(), "pass, as f32's own arithmetic allows");
  EXPECT_EQ(inference.verdict(), ReportVerdict::pass);
}

TEST(InferGrade, StoredWeightsPassOnlyAsSuch) {
  const Inference inference = inferred_grade(graded_softmax([](float x, std::int64_t, std::int64_t, double) {
    return static_cast<float>(numerics::round_to(Format::bf16, std::exp(x)));
  }));
  ASSERT_TRUE(inference.contract) << inference.failure;
  EXPECT_EQ(inference.grade.words(), "weights=bf16") << reported_of(inference);
  EXPECT_TRUE(inference.grade.is_plausible()) << reported_of(inference);
  EXPECT_EQ(Report{rows_of(inference)}.verdict(), ReportVerdict::pass) << reported_of(inference);
  EXPECT_EQ(Report{rows_of(inference, true)}.verdict(), ReportVerdict::undecided);
}

// Linear interpolation in a table of 32 entries errs by up to 985 u, and exp=64ulp grants 128 u.
float table_exponential(float x) {
  if (!(x > -87)) return std::isnan(x) ? x : 0;
  const float y = x * 1.44269504F, whole = std::floor(y), place = (y - whole) * 32;
  const int i = static_cast<int>(place);
  const float rest = place - static_cast<float>(i), a = std::exp2(static_cast<float>(i) / 32),
              b = std::exp2(static_cast<float>(i + 1) / 32);
  return std::ldexp(a + rest * (b - a), static_cast<int>(whole));
}

TEST(InferGrade, ACoarseExponentialIsNoStoredWeight) {
  const Inference inference =
      inferred_grade(graded_softmax([](float x, std::int64_t, std::int64_t, double) { return table_exponential(x); }));
  ASSERT_TRUE(inference.contract) << inference.failure;
  ASSERT_EQ(inference.grade.weaker.size(), 1U) << reported_of(inference);
  EXPECT_TRUE(inference.grade.words().starts_with("exp=")) << reported_of(inference);
  EXPECT_GE(inference.contract->exp_error, 256) << reported_of(inference);
  EXPECT_TRUE(inference.grade.is_plausible()) << reported_of(inference);
}

// softmax(0, 0) is exactly 1/2 under every contract.
TEST(InferGrade, EqualLogitsRefuteStoredWeights) {
  const Inference inference = inferred_grade(graded_softmax(
      [](float x, std::int64_t i, std::int64_t, double) { return std::exp(x) * (i % 2 != 0 ? 1.001F : 1); }));
  EXPECT_FALSE(inference.contract) << reported_of(inference);
  EXPECT_EQ(Report{rows_of(inference)}.verdict(), ReportVerdict::fail);
}

TEST(InferGrade, AWordThatFewRowsNeedIsUndecided) {
  // Wrong by 0.03 % in a tenth of all rows of two: no exponential and no format is so.
  const Inference inference = inferred_grade(graded_softmax(
      [](float x, std::int64_t, std::int64_t, double) { return std::exp(x) * (x < -2 && x > -10 ? 1.0003F : 1); }));
  ASSERT_TRUE(inference.contract) << inference.failure;
  EXPECT_FALSE(inference.grade.is_plausible()) << reported_of(inference);
  EXPECT_EQ(inference.verdict(), ReportVerdict::undecided);
  EXPECT_TRUE(inference.summary().starts_with("undecided, a bug or an unusual contract")) << inference.summary();
  EXPECT_EQ(exit_code(Report{rows_of(inference)}.verdict()), 5);
}

TEST(InferGrade, FlushingInLongRowsAloneIsFlushing) {
  const Inference inference = inferred_grade(graded_softmax(
      [](float x, std::int64_t, std::int64_t n, double) {
        const float e = std::exp(x);
        return n >= 4 && e < 0x1p-126F ? 0 : e;
      },
      "theta=1 nomask compact n<=256"));
  ASSERT_TRUE(inference.contract) << inference.failure;
  EXPECT_EQ(word_of(*inference.contract, "subnormal"), "subnormal=flushed") << reported_of(inference);
}

// A gradient of softmax by its Jacobian, each product as much too large.
KernelSubject jacobian(float factor) {
  const auto kernel = [factor](const softcheck_call* call) {
    const float *y = numbers_of(*call->inputs[0]), *g = numbers_of(*call->inputs[1]);
    float* d = numbers_of(*call->outputs[0]);
    const std::int64_t rows = call->inputs[0]->shape[0], n = call->inputs[0]->shape[1];
    for (std::int64_t r = 0; r < rows; ++r, y += n, g += n, d += n) {
      for (std::int64_t j = 0; j < n; ++j) {
        d[j] = 0;
        for (std::int64_t k = 0; k < n; ++k) d[j] += factor * (g[k] * (k == j ? y[j] * (1 - y[j]) : -y[k] * y[j]));
      }
    }
    return 0;
  };
  return own_subject(kernel, {.op = Op::softmax_backward, .domain = "compact n<=32"});
}

TEST(InferGrade, ProductsThatAreTooLargeAreNoPlainPass) {
  const Inference wrong = inferred_grade(jacobian(1.001F));
  EXPECT_FALSE(wrong.contract && wrong.grade.is_own()) << reported_of(wrong);
  // In this form a gradient's sum rounds more often than its bound grants: hardly any row needs stored products.
  const Inference right = inferred_grade(jacobian(1));
  ASSERT_TRUE(right.contract) << right.failure;
  EXPECT_TRUE(right.grade.is_own() || !right.grade.is_plausible()) << reported_of(right);
}

TEST(InferGrade, NoInfiniteThresholdExcusesARowThatFailsTighterOnes) {
  const Contract own = numerics::default_contract(Format::f32, Format::f32);
  Contract narrow = own;
  narrow.accumulator = Format::f16;
  const auto set_of = [&](Decision decision) {
    ProbeSet set;
    set.judge_unbounded_by(own);
    set.add({"row", 2, [&narrow, decision](const Contract& contract) {
               RowVerdicts verdicts;
               verdicts.vacuity.add_row(contract == narrow);
               if (contract == narrow) return verdicts;
               ValueFinding finding{"kernel.softmax.element", 0, Enclosure(1), 0.5, 0x1p-20, decision, {}};
               verdicts.findings.push_back(finding);
               return verdicts;
             }});
    return set;
  };
  EXPECT_FALSE(set_of(Decision::violated).against(narrow).holds);
  EXPECT_TRUE(set_of(Decision::proved).against(narrow).holds);
}

JudgeOptions quick_inference() {
  JudgeOptions options = quick_options({}, 4);
  options.max_length = 256;
  options.limits.seconds_per_call = 20;
  return options;
}

std::string inference_story(const Inference& inference) {
  return inference.failure + "\n" + details_of(rows_of(inference));
}

// Attention in f32 on compact tensors, hidden scores the lowest number, as the eager attention of transformers has it:
// a query that sees no key weighs all of them alike, or is 0.
KernelSubject eager_attention(bool uniform) {
  const std::string domain = "compact keys>=1 keys<=16 queries>=1 queries<=16 batch>=1 finite nomask";
  const auto kernel = [uniform](const softcheck_call* call) {
    if (call->n_inputs != 3 || call->n_outputs != 1) return 1;
    const DLTensor &q = *call->inputs[0], &k = *call->inputs[1], &v = *call->inputs[2];
    const std::int64_t heads = q.shape[1], queries = q.shape[2], dim = q.shape[3], keys = k.shape[2],
                       values = v.shape[3], group = heads / k.shape[1];
    auto* out = numbers_of(*call->outputs[0]);
    for (std::int64_t row = 0; row < q.shape[0] * heads * queries; ++row, out += values) {
      const std::int64_t head = row / queries / heads * k.shape[1] + row / queries % heads / group;
      const float *x = numbers_of(q) + row * dim, *y = numbers_of(k) + head * keys * dim,
                  *z = numbers_of(v) + head * keys * values;
      const std::int64_t shown = call->causal != 0 ? row % queries + 1 + keys - queries : keys;
      std::vector<float> weights;
      float most = -INFINITY, sum = 0;
      for (std::int64_t j = 0; j < keys; ++j) {
        float score = 0;
        for (std::int64_t d = 0; d < dim; ++d) score += x[d] * y[j * dim + d];
        weights.push_back(j < shown ? score * static_cast<float>(call->scale) : -FLT_MAX);
        most = std::isnan(weights.back()) || weights.back() > most ? weights.back() : most;
      }
      for (float& w : weights) sum += w = std::exp(w - most);
      for (std::int64_t c = 0; c < values; ++c) {
        out[c] = 0;
        for (std::int64_t j = 0; j < keys && (shown > 0 || uniform); ++j) {
          const float weight = weights[static_cast<std::size_t>(j)];
          if (j < shown || shown <= 0) out[c] += weight * z[j * values + c];
        }
        out[c] = shown > 0 || uniform ? out[c] / sum : 0;
      }
    }
    return 0;
  };
  return own_subject(kernel, {.op = Op::attention, .domain = domain});
}

// Labelled full: InferDomain.*
TEST(InferDomain, RowsOfAnyLengthHaveAnswers) {
  for (const char* domain : {"finite n>=3 rows<=4", "finite n=100", "finite n=64|128", "finite n=16k n<=256", "n<=2"}) {
    const Inference inference = infer_contract(zoo_subject("correct_two_pass", {.domain = domain}), quick_inference());
    EXPECT_TRUE(inference.contract) << domain << ": " << inference_story(inference);
    EXPECT_GT(inference.answers, 0U) << domain;
  }
}

TEST(InferDomain, AttentionOfAnyShapeHasAnswers) {
  for (const char* words :
       {"dim=64", "dim=8k dim<=32", "dim=16|64 scale=1/sqrt(dim)", "heads=8", "group=4", "values=1", "keys>=16"}) {
    const std::string domain = "nomask nocausal compact keys>=1 keys<=64 queries<=8 " + std::string(words);
    const Inference inference = infer_contract(
        zoo_subject("attention_correct_two_pass", {.op = Op::attention, .domain = domain}), quick_inference());
    EXPECT_TRUE(inference.contract) << domain << ": " << inference_story(inference);
    EXPECT_GT(inference.answers, 0U) << domain;
  }
}

TEST(InferDomain, CausalQueriesWithoutKeysShowTheConvention) {
  for (const bool uniform : {false, true}) {
    const Inference inference = infer_contract(eager_attention(uniform), quick_inference());
    ASSERT_TRUE(inference.contract) << uniform << ": " << inference_story(inference);
    EXPECT_EQ(word_of(*inference.contract, "masked"), uniform ? "masked=uniform" : "masked=zero");
  }
}

TEST(InferDomain, EqualWeightsOfAMaskedQueryAreNoWantOfCausality) {
  const KernelJudgement judgement = judge_kernel(eager_attention(true), quick_inference());
  EXPECT_EQ(judgement.verdict, ReportVerdict::fail);
  for (const std::string& note : judgement.notes) {
    EXPECT_THAT(note, Not(HasSubstr("without causality")));
  }
}

// The first right kernel of each op and format of 8 bits.
TEST(InferDomain, RightKernelsOfFormatsOf8BitsPass) {
  std::map<std::pair<std::string, std::string>, ZooRow> rows;
  for (const ZooRow& row : read_zoo()) {
    const bool plain = row.domain == "-" || row.domain == "n<=1000";
    if (row.is_planted() || row.expected != "pass" || !plain) continue;
    if (numerics::properties(numerics::parse_format(row.dtype)).storage_bits == 8)
      rows.try_emplace({row.op, row.dtype}, row);
  }
  EXPECT_GT(rows.size(), 30U);
  for (const auto& [key, row] : rows) {
    KernelSubject subject = subject_of(row);
    subject.domain = domain_of(subject.op->is_attention() ? "keys<=12 queries<=4 dim<=8" : "n<=24 rows<=8", subject.op);
    const std::string of = key.first + " " + key.second;
    EXPECT_EQ(judge_kernel(subject, quick_inference()).verdict, ReportVerdict::pass) << of;
    const Inference inference = infer_contract(subject, quick_inference());
    EXPECT_TRUE(inference.contract) << of << ": " << inference_story(inference);
    EXPECT_NE(inference.verdict(), ReportVerdict::fail) << of << ": " << inference_story(inference);
  }
}

}  // namespace
}  // namespace softcheck::proptests
