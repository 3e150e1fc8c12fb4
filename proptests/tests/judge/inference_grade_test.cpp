// What --infer's pass means: the dtype's own arithmetic, weaker words that most rows need, or words that hide a bug.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "judge/inference/contract_inference.hpp"
#include "numerics/formats/special_values.hpp"

namespace softcheck::proptests {
namespace {

using numerics::Contract;
using numerics::Format;

// The exponential of item i among n, as a kernel has it.
using Weight = std::function<float(float argument, std::int64_t i, std::int64_t n, double theta)>;

KernelSubject graded_softmax(Weight weight, const std::string& domain) {
  KernelSubject subject;
  subject.source.symbol = "kernel";
  subject.contract = numerics::default_contract(Format::f32, Format::f32);
  subject.domain = domain_of(domain, Op::softmax);
  subject.source.callable = [weight](const softcheck_call* call) {
    const DLTensor &in = *call->inputs[0], &out = *call->outputs[0];
    const auto* x = reinterpret_cast<const float*>(static_cast<const char*>(in.data) + in.byte_offset);
    auto* p = reinterpret_cast<float*>(static_cast<char*>(out.data) + out.byte_offset);
    const auto scale = static_cast<float>(1 / call->theta);
    for (std::int64_t r = 0, n = in.shape[1]; r < in.shape[0]; ++r, x += n, p += n) {
      float maximum = -INFINITY, sum = 0;
      for (std::int64_t i = 0; i < n; ++i) maximum = std::isnan(x[i]) || x[i] > maximum ? x[i] : maximum;
      for (std::int64_t i = 0; i < n; ++i) sum += p[i] = weight((x[i] - maximum) * scale, i, n, call->theta);
      for (std::int64_t i = 0; i < n; ++i) p[i] = std::isnan(sum) ? NAN : std::fmin(p[i] / sum, 1.0F);
    }
    return 0;
  };
  return subject;
}

Inference inferred_grade(const KernelSubject& subject) {
  JudgeOptions options = judge_options(Effort::quick);
  options.run.cases = 8;
  options.max_length = 256;
  return infer_contract(subject, options);
}

std::string reported_of(const Inference& inference) {
  std::string text = inference.summary();
  for (const InferredWord& word : inference.words) text += "\n" + word.word + ": " + word.why;
  return text;
}

constexpr const char* small_rows = "n>=1 n<=64 rows<=8 nomask compact";

// Labelled full: InferGrade.*
TEST(InferGrade, OwnArithmeticIsAPlainPass) {
  const Inference inference = inferred_grade(
      graded_softmax([](float x, std::int64_t, std::int64_t, double) { return std::exp(x); }, small_rows));
  ASSERT_TRUE(inference.contract) << inference.failure;
  EXPECT_TRUE(inference.grade.is_own()) << reported_of(inference);
  EXPECT_EQ(inference.summary(), "pass, as f32's own arithmetic allows");
  EXPECT_EQ(inference.verdict(), ReportVerdict::pass);
}

TEST(InferGrade, StoredWeightsPassOnlyAsSuch) {
  const Inference inference = inferred_grade(
      graded_softmax([](float x, std::int64_t, std::int64_t,
                        double) { return static_cast<float>(numerics::round_to(Format::bf16, std::exp(x))); },
                     small_rows));
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
  const Inference inference = inferred_grade(
      graded_softmax([](float x, std::int64_t, std::int64_t, double) { return table_exponential(x); }, small_rows));
  ASSERT_TRUE(inference.contract) << inference.failure;
  ASSERT_EQ(inference.grade.weaker.size(), 1U) << reported_of(inference);
  EXPECT_TRUE(inference.grade.words().starts_with("exp=")) << reported_of(inference);
  EXPECT_GE(inference.contract->exp_error, 256) << reported_of(inference);
  EXPECT_TRUE(inference.grade.is_plausible()) << reported_of(inference);
}

// softmax(0, 0) is exactly 1/2 under every contract.
TEST(InferGrade, EqualLogitsRefuteStoredWeights) {
  const Inference inference = inferred_grade(graded_softmax(
      [](float x, std::int64_t i, std::int64_t, double) { return std::exp(x) * (i % 2 != 0 ? 1.001F : 1); },
      small_rows));
  EXPECT_FALSE(inference.contract) << reported_of(inference);
  EXPECT_EQ(Report{rows_of(inference)}.verdict(), ReportVerdict::fail);
}

TEST(InferGrade, AWordThatFewRowsNeedIsUndecided) {
  // Wrong by 0.03 % in a tenth of all rows of two: no exponential and no format is so.
  const Inference inference = inferred_grade(graded_softmax(
      [](float x, std::int64_t, std::int64_t, double) { return std::exp(x) * (x < -2 && x > -10 ? 1.0003F : 1); },
      small_rows));
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
  KernelSubject subject;
  subject.source.symbol = "jacobian";
  subject.op = Op::softmax_backward;
  subject.contract = numerics::default_contract(Format::f32, Format::f32);
  subject.domain = domain_of("compact n<=32", subject.op);
  subject.source.callable = [factor](const softcheck_call* call) {
    const auto data = [](const DLTensor& tensor) {
      return reinterpret_cast<float*>(static_cast<char*>(tensor.data) + tensor.byte_offset);
    };
    const float *y = data(*call->inputs[0]), *g = data(*call->inputs[1]);
    float* d = data(*call->outputs[0]);
    const std::int64_t rows = call->inputs[0]->shape[0], n = call->inputs[0]->shape[1];
    for (std::int64_t r = 0; r < rows; ++r, y += n, g += n, d += n) {
      for (std::int64_t j = 0; j < n; ++j) {
        d[j] = 0;
        for (std::int64_t k = 0; k < n; ++k) d[j] += factor * (g[k] * (k == j ? y[j] * (1 - y[j]) : -y[k] * y[j]));
      }
    }
    return 0;
  };
  return subject;
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
  const auto set_of = [&](numerics::Decision decision) {
    ProbeSet set;
    set.judge_unbounded_by(own);
    set.add({"row", 2, [&narrow, decision](const Contract& contract) {
               RowVerdicts verdicts;
               verdicts.vacuity.add_row(contract == narrow);
               if (contract == narrow) return verdicts;
               ValueFinding finding{"kernel.softmax.element", 0, numerics::Enclosure(1), 0.5, 0x1p-20, decision, {}};
               verdicts.findings.push_back(finding);
               return verdicts;
             }});
    return set;
  };
  EXPECT_FALSE(set_of(numerics::Decision::violated).against(narrow).holds);
  EXPECT_TRUE(set_of(numerics::Decision::proved).against(narrow).holds);
}

}  // namespace
}  // namespace softcheck::proptests
