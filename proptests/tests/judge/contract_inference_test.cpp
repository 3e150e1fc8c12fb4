#include "judge/inference/contract_inference.hpp"

#include <bit>
#include <iostream>

#include "proptests/tests/judge/kernel_samples.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

JudgeOptions inferred_cases() {
  JudgeOptions options = quick_options({}, 40);
  options.limits.seconds_per_call = 5;
  return options;
}

KernelSubject inferred_subject(const std::string& symbol, Op op = Op::softmax, Format format = Format::f32,
                               const std::string& library = "softcheck_zoo") {
  return subject_by({library_path(library), symbol}, {op, format});
}

Inference inferred(const KernelSubject& subject) {
  Inference inference = infer_contract(subject, inferred_cases());
  std::cout << details_of(rows_of(inference));
  return inference;
}

// Further kernels of a list, each an inference of its own, are a deep run's.
bool is_deep() { return effort_from_environment() == Effort::deep; }

// By key: "sum" -> "sum=lanes:8 measured".
std::map<std::string, std::string> words_of(const Inference& inference) {
  std::map<std::string, std::string> words;
  for (const InferredWord& word : inference.words) {
    words[word.word.substr(0, word.word.find('='))] = word.word + " " + to_string(word.evidence);
  }
  return words;
}

// How a kernel adds: the sum of so many weights.
using Sum = float (*)(const float*, std::int64_t);

template <int lanes>
float sum_in_lanes(const float* w, std::int64_t n) {
  float partial[lanes] = {};
  for (std::int64_t i = 0; i < n; ++i) partial[i % lanes] += w[i];
  for (int width = lanes / 2; width >= 1; width /= 2) {
    for (int i = 0; i < width; ++i) partial[i] += partial[i + width];
  }
  return partial[0];
}

template <std::int64_t block>
float sum_in_blocks(const float* w, std::int64_t n) {
  if (n <= block) return sum_in_lanes<1>(w, n);
  const auto blocks = static_cast<std::uint64_t>((n + block - 1) / block);
  const std::int64_t half = static_cast<std::int64_t>(std::bit_ceil(blocks) / 2) * block;
  return sum_in_blocks<block>(w, half) + sum_in_blocks<block>(w + half, n - half);
}

// Compact rows without a mask are all that these kernels take.
bool takes(const softcheck_call& call) {
  return call.n_inputs == 1 && call.inputs[0]->strides == nullptr && call.outputs[0]->strides == nullptr;
}

// A softmax in f32 with that sum, on compact rows alone.
KernelSubject adding_by(Sum sum, int theta_roundings = 0) {
  return own_subject([sum, theta_roundings](const softcheck_call* call) {
    if (!takes(*call)) return 1;
    const auto weight = [&](float argument, std::int64_t, std::int64_t, double) {
      for (int k = 0; k < theta_roundings; ++k) argument = argument * (1 + 0x1p-23F);
      return std::exp(argument);
    };
    return softmax_by(*call, weight,
                      [sum](std::span<float> p) { return sum(p.data(), static_cast<std::int64_t>(p.size())); });
  });
}

// The word with this key that a kernel's contract is found to have, and how.
std::string word(const KernelSubject& subject, const char* key) {
  const Inference inference = inferred(subject);
  EXPECT_TRUE(inference.contract) << subject.source.symbol << ": " << inference.failure;
  return words_of(inference)[key];
}

// Labelled full: InferContract.*
TEST(InferContract, TheOrderOfSummationIsMeasured) {
  std::vector<std::pair<Sum, std::string>> kernels{
      {sum_in_lanes<1>, "sum=sequential measured"},
      {sum_in_lanes<8>, "sum=lanes:8 measured"},
      {sum_in_blocks<512>, "sum=blocks:512 measured"},
      {sum_in_blocks<1>, "sum=tree held"},
  };
  if (is_deep()) {
    kernels.emplace_back(sum_in_lanes<2>, "sum=lanes:2 measured");
    kernels.emplace_back(sum_in_lanes<64>, "sum=lanes:64 measured");
    kernels.emplace_back(sum_in_blocks<64>, "sum=blocks:64 measured");
  }
  for (const auto& [sum, expected] : kernels) {
    const Inference inference = inferred(adding_by(sum));
    ASSERT_TRUE(inference.contract) << expected << ": " << inference.failure;
    std::map<std::string, std::string> words = words_of(inference);
    EXPECT_EQ(words["sum"], expected);
    EXPECT_EQ(words["acc"], "acc=f32 measured");
    EXPECT_EQ(words["exp"], "exp=1ulp held");
    EXPECT_EQ(words["masked"], "masked=nan measured");
    EXPECT_EQ(inference.judgement.verdict, ReportVerdict::pass);
  }
}

// Before any judgement: one that fails would put a wrong answer right, and hide it.
TEST(InferContract, TheOrderOfSummationFollowsFromTheQuestionsAlone) {
  for (const auto& [sum, expected] :
       {std::pair{Sum(sum_in_lanes<1>), "sum=sequential"}, std::pair{Sum(sum_in_lanes<8>), "sum=lanes:8"},
        std::pair{Sum(sum_in_blocks<64>), "sum=blocks:64"}}) {
    ContractSearch search(adding_by(sum), judge_options(Effort::quick));
    const std::optional<Contract> found = search.first();
    ASSERT_TRUE(found) << expected;
    EXPECT_EQ(word_of(*found, "sum"), expected);
  }
}

TEST(InferContract, AWorseExponentialIsMeasured) {
  const Inference inference = inferred(adding_by(sum_in_lanes<1>, 2));
  ASSERT_TRUE(inference.contract) << inference.failure;
  EXPECT_GT(inference.contract->exp_error + inference.contract->exp_argument_error, 3);
  EXPECT_TRUE(words_of(inference)["exp"].ends_with("measured"));
}

TEST(InferContract, AccumulatorsConventionsAndFormsAreMeasured) {
  EXPECT_EQ(word(inferred_subject("correct_double"), "acc"), "acc=f64 held");
  EXPECT_EQ(word(inferred_subject("correct_masked_zero"), "masked"), "masked=zero measured");
  EXPECT_EQ(word(inferred_subject("correct_log_softmax_uncentred", Op::log_softmax), "lse"), "lse=uncentred measured");
  std::map<std::string, std::string> centred =
      words_of(inferred(inferred_subject("correct_log_softmax", Op::log_softmax)));
  EXPECT_EQ(centred["lse"], "lse=centred held");
  EXPECT_EQ(centred["sum"], "sum=sequential measured");
  EXPECT_EQ(
      word(inferred_subject("softcheck_adaptive_softmax", Op::adaptive_softmax, Format::f32, "softcheck_cpu_kernels"),
           "entropy"),
      "entropy=exact measured");
  if (!is_deep()) return;
  EXPECT_EQ(word(inferred_subject("correct_two_pass"), "acc"), "acc=f32 measured");
  EXPECT_EQ(word(inferred_subject("correct_pairwise"), "sum"), "sum=tree held");
  EXPECT_EQ(word(inferred_subject("correct_lanes"), "sum"), "sum=lanes:8 measured");
  EXPECT_EQ(word(inferred_subject("correct_entropy", Op::entropy), "masked"), "masked=nan measured");
}

TEST(InferContract, FormsAndWhatIsStoredAreMeasured) {
  EXPECT_EQ(word(inferred_subject("correct_theta_before"), "theta"), "theta=before measured");
  EXPECT_EQ(word(inferred_subject("correct_weights_stored", Op::softmax, Format::bf16), "weights"),
            "weights=bf16 measured");
  EXPECT_EQ(word(inferred_subject("correct_log_softmax_total_stored", Op::log_softmax, Format::bf16), "total"),
            "total=bf16 measured");
  EXPECT_EQ(word(inferred_subject("correct_entropy_from_logits", Op::entropy), "entropy_from"),
            "entropy_from=logits measured");
  EXPECT_EQ(word(inferred_subject("correct_entropy_of_log_probabilities", Op::entropy), "entropy_from"),
            "entropy_from=coefficients measured");
}

TEST(InferContract, WordsOfCommonArithmeticAreMeasured) {
  EXPECT_EQ(word(inferred_subject("correct_differences_stored"), "differences"), "differences=bf16 measured");
  KernelSubject jacobian = inferred_subject("correct_softmax_backward_jacobian", Op::softmax_backward);
  jacobian.domain = domain_of("n<=512", jacobian.op);
  EXPECT_EQ(word(jacobian, "gradient"), "gradient=jacobian measured");
  EXPECT_EQ(word(inferred_subject("correct_base2_logsumexp", Op::logsumexp), "lse"), "lse=base2 measured");
  EXPECT_EQ(word(inferred_subject("attention_correct_base2_lse", Op::attention), "lse"), "lse=base2 measured");
}

// A softmax of 16 bits on compact rows, its weights numbers of another format.
KernelSubject storing_weights(Format format, Format weights) {
  const auto kernel = [format, weights](const softcheck_call* call) {
    if (!takes(*call)) return 1;
    const auto scale = static_cast<float>(1 / call->theta);
    each_compact_row<std::uint16_t>(*call, [&](std::span<const std::uint16_t> bits, std::span<std::uint16_t> results) {
      std::vector<float> x;
      for (const std::uint16_t one : bits) x.push_back(static_cast<float>(numerics::decode(format, one)));
      const float maximum = maximum_of(std::span<const float>(x));
      float total = 0;
      for (const float one : x) total += std::exp((one - maximum) * scale);
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double w = numerics::round_to(weights, std::exp((x[i] - maximum) * scale));
        const float p = static_cast<float>(w) / total;
        results[i] = static_cast<std::uint16_t>(numerics::encode(format, numerics::round_to(format, p)));
      }
    });
    return 0;
  };
  return own_subject(kernel, {.format = format});
}

TEST(InferContract, TheStoredFormatIsTheInputs) {
  // In longer rows a sum in f32 and weights of f16 that are subnormal err alike, and no order of the sum is found.
  JudgeOptions options = inferred_cases();
  options.max_length = 1024;
  for (const Format format : {Format::f16, Format::bf16}) {
    const std::string name(numerics::properties(format).name);
    const Inference stored = infer_contract(storing_weights(format, format), options);
    ASSERT_TRUE(stored.contract) << name << ": " << stored.failure;
    EXPECT_EQ(words_of(stored)["weights"], "weights=" + name + " measured");
    const Inference wide = infer_contract(storing_weights(format, Format::f32), options);
    ASSERT_TRUE(wide.contract) << name << ": " << wide.failure;
    EXPECT_FALSE(wide.contract->weights) << name;
  }
  // Eight bits of a weight are not eleven.
  const Inference other = infer_contract(storing_weights(Format::f16, Format::bf16), options);
  EXPECT_FALSE(other.contract && other.contract->weights == Format::f16);
}

TEST(InferContract, AttentionsContractIsFound) {
  EXPECT_EQ(word(inferred_subject("attention_correct_masked_zero", Op::attention), "masked"), "masked=zero measured");
  EXPECT_EQ(word(inferred_subject("attention_correct_narrow_weights", Op::attention), "weights"),
            "weights=bf16 measured");
  EXPECT_EQ(word(inferred_subject("attention_correct_stored_scores", Op::attention), "scores"), "scores=bf16 measured");
}

TEST(InferContract, TheContractOfAttentionsGradientIsFound) {
  const auto words = [](const std::string& symbol, Format format) {
    const Inference inference = inferred(inferred_subject(symbol, Op::attention_backward, format));
    EXPECT_TRUE(inference.contract) << symbol << ": " << inference.failure;
    return words_of(inference);
  };
  std::vector<std::string> symbols{"attention_backward_correct_recomputed"};
  if (is_deep()) symbols.emplace_back("attention_backward_correct_saved");
  for (const std::string& symbol : symbols) {
    std::map<std::string, std::string> found = words(symbol, Format::f32);
    EXPECT_EQ(found["acc"], "acc=f32 measured") << symbol;
    EXPECT_EQ(found["exp"], "exp=1ulp held") << symbol;
    EXPECT_EQ(found["sum"], "sum=sequential measured") << symbol;
    EXPECT_TRUE(found["masked"].ends_with("assumed")) << symbol;
    EXPECT_FALSE(found.contains("weights") || found.contains("ds") || found.contains("scale")) << symbol;
  }
  EXPECT_EQ(words("attention_backward_correct_saved", Format::f64)["acc"], "acc=f64 held");
  // Results of 16 bits: an accumulator of f64 would hold, too.
  EXPECT_EQ(words("attention_backward_correct_saved", Format::bf16)["acc"], "acc=f32 assumed");
  std::map<std::string, std::string> narrow = words("attention_backward_correct_narrow", Format::f32);
  EXPECT_EQ(narrow["weights"], "weights=bf16 measured");
  EXPECT_EQ(narrow["ds"], "ds=bf16 measured");
}

TEST(InferContract, AWeakerWordIsFoundWhereTheFullRunBreaksWhatTheProbesSaw) {
  // Rows of 64 and more are added in 16 lanes, and the witnesses are no shorter.
  KernelSubject subject = inferred_subject("correct_log_softmax_lanes_from_64", Op::log_softmax);
  JudgeOptions options = inferred_cases();
  options.run.cases = 400;
  options.run.shrinks = 40;  // of long rows, each as expensive as a case
  const Inference inference = infer_contract(subject, options);
  ASSERT_TRUE(inference.contract) << inference.failure;
  EXPECT_EQ(inference.judgement.verdict, ReportVerdict::pass);
  subject.contract.summation = {numerics::Summation::Kind::lanes, 16};
  EXPECT_EQ(judge_kernel(subject, options).verdict, ReportVerdict::fail);
}

TEST(InferContract, AnOverflowFitsNoContract) {
  const Inference inference = infer_contract(
      inferred_subject("mutant_logsumexp_f16_sum_overflows", Op::logsumexp, Format::f16), inferred_cases());
  EXPECT_FALSE(inference.contract);
  EXPECT_EQ(Report{rows_of(inference)}.verdict(), ReportVerdict::fail);
}

TEST(InferContract, WhatNoAnswerCanTellIsAssumed) {
  const Inference inference =
      inferred(inferred_subject("softcheck_softmax", Op::softmax, Format::bf16, "softcheck_cpu_kernels"));
  ASSERT_TRUE(inference.contract) << inference.failure;
  std::map<std::string, std::string> words = words_of(inference);
  EXPECT_EQ(words["acc"], "acc=f32 assumed");
  EXPECT_EQ(words["exp"], "exp=1ulp assumed");
  EXPECT_EQ(words["lse"], "lse=centred assumed");
}

TEST(InferContract, WeightsOfEightBitsAreFound) {
  for (const Format format : numerics::all_formats()) {
    const numerics::FormatProperties& of = numerics::properties(format);
    if (of.storage_bits != 8) continue;
    const std::string name(of.name), symbol = "attention_correct_byte_weights" + (of.has_infinity ? "_in_" + name : "");
    EXPECT_THAT(word(inferred_subject(symbol, Op::attention, format), "weights"),
                ::testing::StartsWith("weights=" + name + (of.has_infinity ? " " : ":2^8 ")));
  }
}

// Eight bits cannot tell long rows of coefficients apart.
TEST(InferContract, AContractThatHoldsButSaysNothingIsNamed) {
  const Inference inference = inferred(inferred_subject("correct_top_p_softmax", Op::top_p_softmax, Format::e4m3));
  EXPECT_FALSE(inference.contract);
  EXPECT_EQ(inference.verdict(), ReportVerdict::vacuous);
  EXPECT_THAT(inference.failure, HasSubstr("' holds, but its thresholds are as wide as some values"));
}

TEST(InferContract, NoContractFitsAWrongKernel) {
  // Of values, of a declared word, of values far from the rows asked, of layouts, of NaN.
  for (const char* symbol : {"mutant_no_max_shift", "mutant_ignores_mask", "mutant_ignores_row_stride",
                             "mutant_sentinel_5e4", "mutant_nan_swallowed"}) {
    const Inference inference = inferred(inferred_subject(symbol));
    EXPECT_FALSE(inference.contract) << symbol;
    EXPECT_NE(inference.failure, "") << symbol;
    EXPECT_EQ(Report{rows_of(inference)}.verdict(), ReportVerdict::fail) << symbol;
  }
  // Its own contract says nothing of long rows.
  const Inference narrow = inferred(inferred_subject("correct_bf16_accumulator"));
  EXPECT_FALSE(narrow.contract);
  EXPECT_THAT(narrow.failure, HasSubstr("acc=bf16"));
  for (const char* symbol : {"mutant_crashes", "mutant_refuses_everything"}) {
    EXPECT_FALSE(infer_contract(inferred_subject(symbol), inferred_cases()).contract) << symbol;
  }
}

// Labelled full: GradientJudge.StoredProductsAreInferred
TEST(GradientJudge, StoredProductsAreInferred) {
  const KernelSubject subject =
      zoo_subject("correct_softmax_backward_products_stored", {.op = Op::softmax_backward, .format = Format::bf16});
  JudgeOptions options = quick_options();
  options.max_length = 4096;
  const Inference inference = infer_contract(subject, options);
  ASSERT_TRUE(inference.contract) << inference.failure;
  EXPECT_EQ(inference.contract->products, Format::bf16);
}

}  // namespace
}  // namespace softcheck::proptests
