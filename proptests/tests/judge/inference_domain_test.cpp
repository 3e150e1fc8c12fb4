// --infer in domains of long rows, of many heads, of causal calls without keys and of formats without infinities.
#include <gtest/gtest.h>

#include <array>
#include <cfloat>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "judge/inference/contract_inference.hpp"
#include "judge/kernel_judge.hpp"
#include "proptests/tests/judge/zoo_rows.hpp"

namespace softcheck::proptests {
namespace {

using numerics::Format;

JudgeOptions quick_inference() {
  JudgeOptions options = judge_options(Effort::quick);
  options.run.cases = 4;
  options.max_length = 256;
  options.limits.seconds_per_call = 20;
  return options;
}

KernelSubject of_the_zoo(const std::string& symbol, Op op, const std::string& domain, Format format = Format::f32) {
  KernelSubject subject;
  subject.source = {std::string(SOFTCHECK_KERNEL_DIR) + "/libsoftcheck_zoo.so", symbol, {}};
  subject.op = op;
  subject.contract = numerics::default_contract(format, output_format(op, format));
  subject.domain = domain_of(domain, op);
  return subject;
}

std::string inference_story(const Inference& inference) {
  std::string story = inference.failure;
  for (const ReportRow& row : rows_of(inference)) {
    for (const std::string& line : row.details) story += "\n" + line;
  }
  return story;
}

template <class Number>
Number* floats_of(const DLTensor& tensor) {
  return reinterpret_cast<Number*>(static_cast<char*>(tensor.data) + tensor.byte_offset);
}

// Attention in f32 on compact tensors, hidden scores the lowest number, as the eager attention of transformers has it:
// a query that sees no key weighs all of them alike, or is 0.
KernelSubject eager_attention(bool uniform, const std::string& domain) {
  KernelSubject subject = of_the_zoo("eager", Op::attention, domain);
  subject.source.callable = [uniform](const softcheck_call* call) {
    if (call->n_inputs != 3 || call->n_outputs != 1) return 1;
    const DLTensor &q = *call->inputs[0], &k = *call->inputs[1], &v = *call->inputs[2];
    const std::int64_t heads = q.shape[1], queries = q.shape[2], dim = q.shape[3], keys = k.shape[2],
                       values = v.shape[3], group = heads / k.shape[1];
    auto* out = floats_of<float>(*call->outputs[0]);
    for (std::int64_t row = 0; row < q.shape[0] * heads * queries; ++row, out += values) {
      const std::int64_t head = row / queries / heads * k.shape[1] + row / queries % heads / group;
      const float *x = floats_of<float>(q) + row * dim, *y = floats_of<float>(k) + head * keys * dim,
                  *z = floats_of<float>(v) + head * keys * values;
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
  return subject;
}

// Labelled full: InferDomain.*
TEST(InferDomain, RowsOfAnyLengthHaveAnswers) {
  for (const char* domain : {"finite n>=3 rows<=4", "finite n=100", "finite n=64|128", "finite n=16k n<=256", "n<=2"}) {
    const Inference inference = infer_contract(of_the_zoo("correct_two_pass", Op::softmax, domain), quick_inference());
    EXPECT_TRUE(inference.contract) << domain << ": " << inference_story(inference);
    EXPECT_GT(inference.answers, 0U) << domain;
  }
}

TEST(InferDomain, AttentionOfAnyShapeHasAnswers) {
  for (const char* words :
       {"dim=64", "dim=8k dim<=32", "dim=16|64 scale=1/sqrt(dim)", "heads=8", "group=4", "values=1", "keys>=16"}) {
    const std::string domain = "nomask nocausal compact keys>=1 keys<=64 queries<=8 " + std::string(words);
    const Inference inference =
        infer_contract(of_the_zoo("attention_correct_two_pass", Op::attention, domain), quick_inference());
    EXPECT_TRUE(inference.contract) << domain << ": " << inference_story(inference);
    EXPECT_GT(inference.answers, 0U) << domain;
  }
}

TEST(InferDomain, CausalQueriesWithoutKeysShowTheConvention) {
  const std::string domain = "compact keys>=1 keys<=16 queries>=1 queries<=16 batch>=1 finite nomask";
  for (const bool uniform : {false, true}) {
    const Inference inference = infer_contract(eager_attention(uniform, domain), quick_inference());
    ASSERT_TRUE(inference.contract) << uniform << ": " << inference_story(inference);
    EXPECT_EQ(word_of(*inference.contract, "masked"), uniform ? "masked=uniform" : "masked=zero");
  }
}

TEST(InferDomain, EqualWeightsOfAMaskedQueryAreNoWantOfCausality) {
  const std::string domain = "compact keys>=1 keys<=16 queries>=1 queries<=16 batch>=1 finite nomask";
  const KernelJudgement judgement = judge_kernel(eager_attention(true, domain), quick_inference());
  EXPECT_EQ(judgement.verdict, ReportVerdict::fail);
  for (const std::string& note : judgement.notes) {
    EXPECT_EQ(note.find("without causality"), std::string::npos) << note;
  }
}

// The first right kernel of each op and format of 8 bits.
TEST(InferDomain, RightKernelsOfFormatsOf8BitsPass) {
  std::map<std::pair<std::string, std::string>, ZooRow> rows;
  for (const ZooRow& row : read_zoo()) {
    const bool plain = row.domain == "-" || row.domain == "n<=1000";
    if (row.is_planted() || row.expected != "pass" || !plain) continue;
    if (row.dtype == "e4m3" || row.dtype == "e5m2") rows.try_emplace({row.op, row.dtype}, row);
  }
  EXPECT_GT(rows.size(), 30U);
  for (const auto& [key, row] : rows) {
    KernelSubject subject = subject_of(row);
    subject.domain = domain_of(subject.op->attention ? "keys<=12 queries<=4 dim<=8" : "n<=24 rows<=8", subject.op);
    const std::string of = key.first + " " + key.second;
    EXPECT_EQ(judge_kernel(subject, quick_inference()).verdict, ReportVerdict::pass) << of;
    const Inference inference = infer_contract(subject, quick_inference());
    EXPECT_TRUE(inference.contract) << of << ": " << inference_story(inference);
    EXPECT_NE(inference.verdict(), ReportVerdict::fail) << of << ": " << inference_story(inference);
  }
}

}  // namespace
}  // namespace softcheck::proptests
