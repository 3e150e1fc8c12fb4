// Published criteria on planted bugs: few criteria and few kernels, so that a run takes seconds.
#include "judge/survivors/criterion.hpp"
#include "judge/survivors/row_case.hpp"
#include "judge/survivors/survivor_matrix.hpp"
#include "judge/survivors/zoo_kernel.hpp"
#include "proptests/tests/judge/kernel_samples.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

std::vector<ZooKernel> zoo_kernels(const std::set<std::string>& symbols) {
  std::vector<ZooKernel> chosen;
  for (const ZooKernel& kernel : read_zoo_kernels(SOFTCHECK_KERNEL_DIR "/ZOO.tsv")) {
    if (symbols.contains(kernel.symbol)) chosen.push_back(kernel);
  }
  return chosen;
}

Criterion published(const std::string& name) {
  for (const Criterion& criterion : published_criteria()) {
    if (criterion.name == name) return criterion;
  }
  throw std::invalid_argument("no criterion is called " + name);
}

SurvivorOptions options() {
  SurvivorOptions result;
  result.seconds_per_call = 2;
  result.folder = SOFTCHECK_KERNEL_DIR;
  return result;
}

// For tests of the criteria alone: the judge takes longer than all of them.
SurvivorOptions unjudged() {
  SurvivorOptions result = options();
  result.judged = false;
  return result;
}

std::set<std::string> accepted(const SurvivorMatrix& matrix, const std::string& name, ZooKernelKind kind) {
  std::set<std::string> symbols;
  for (const SurvivorLine& line : matrix.lines) {
    for (std::size_t i = 0; i < line.verdicts.size(); ++i) {
      const bool counts = line.name == name && matrix.kernels[i].kind() == kind;
      if (counts && line.verdicts[i] == CriterionVerdict::accepted) symbols.insert(matrix.kernels[i].symbol);
    }
  }
  return symbols;
}

using Names = std::set<std::string>;

const Names symbols{"mutant_constant_one_over_n",
                    "mutant_returns_zeros",
                    "mutant_sum_in_bf16",
                    "mutant_ignores_mask",
                    "mutant_no_max_shift",
                    "mutant_crashes",
                    "mutant_hangs",
                    "correct_two_pass",
                    "correct_kahan",
                    "example_softmax_c"};

// Labelled full: Survivors.*
TEST(Survivors, CriteriaAcceptWhatTheyAcceptAndTheJudgeNothing) {
  const std::vector<ZooKernel> zoo = zoo_kernels(symbols);
  const SurvivorMatrix matrix = survivor_matrix(
      {published("llm.c"), published("Triton tutorial 02"), published("XNNPACK operator")}, zoo, options());
  EXPECT_EQ(accepted(matrix, "llm.c", ZooKernelKind::bug), (Names{"mutant_ignores_mask", "mutant_no_max_shift"}));
  EXPECT_EQ(accepted(matrix, "Triton tutorial 02", ZooKernelKind::bug),
            (Names{"mutant_ignores_mask", "mutant_no_max_shift"}));
  EXPECT_EQ(accepted(matrix, "XNNPACK operator", ZooKernelKind::bug), Names{"mutant_ignores_mask"});
  EXPECT_EQ(accepted(matrix, "softcheck", ZooKernelKind::bug), Names{});

  const Names correct{"correct_two_pass", "correct_kahan", "example_softmax_c"};
  EXPECT_EQ(accepted(matrix, "softcheck", ZooKernelKind::correct), correct);
  EXPECT_EQ(accepted(matrix, "llm.c", ZooKernelKind::correct), correct);

  const SurvivorMatrix part = matrix.of("softmax", numerics::Format::f32),
                       none = matrix.of("softmax", numerics::Format::f16);
  EXPECT_EQ(part.lines.size(), matrix.lines.size());
  ASSERT_EQ(none.lines.size(), 1U);
  EXPECT_EQ(none.lines[0].name, "softcheck");
}

TEST(Survivors, TheSameSeedGivesTheSameBytes) {
  const std::vector<ZooKernel> zoo = zoo_kernels({"mutant_returns_zeros", "mutant_crashes", "example_softmax_c"});
  const SurvivorOrigin origin{"softcheck", "commit", "command"};
  const auto files = [&] {
    const SurvivorMatrix matrix = survivor_matrix({published("MLX")}, zoo, options());
    return to_csv(matrix, origin) + to_text(matrix, origin) + to_svg(matrix, origin);
  };
  EXPECT_EQ(files(), files());
}

// What stands in docs/kernels/survivors.md of the tests of losses, merges and routers. What the judge says of these
// kernels is a line of the zoo each.
TEST(Survivors, TestsOfOtherOpsAcceptWhatTheyAccept) {
  const auto matrix = [](const Names& criteria, const Names& kernels) {
    std::vector<Criterion> rows;
    for (const std::string& name : criteria) rows.push_back(published(name));
    return survivor_matrix(rows, zoo_kernels(kernels), unjudged());
  };
  const SurvivorMatrix gradients = matrix({"Liger fused linear, sum bf16", "Liger gradient bf16"},
                                          {"mutant_cross_entropy_backward_zeros",
                                           "mutant_cross_entropy_backward_negated", "correct_cross_entropy_backward"});
  EXPECT_EQ(accepted(gradients, "Liger fused linear, sum bf16", ZooKernelKind::bug),
            (Names{"mutant_cross_entropy_backward_zeros", "mutant_cross_entropy_backward_negated"}));
  EXPECT_EQ(accepted(gradients, "Liger gradient bf16", ZooKernelKind::bug), Names{});

  const SurvivorMatrix merges =
      matrix({"vLLM merge_attn_states"},
             {"mutant_merge_states_all_empty_is_nan", "mutant_merge_states_mean", "correct_merge_states"});
  EXPECT_EQ(accepted(merges, "vLLM merge_attn_states", ZooKernelKind::bug),
            Names{"mutant_merge_states_all_empty_is_nan"});
  EXPECT_EQ(accepted(merges, "vLLM merge_attn_states", ZooKernelKind::correct), Names{"correct_merge_states"});

  const SurvivorMatrix routers =
      matrix({"sglang topk_softmax"},
             {"mutant_topk_softmax_epsilon", "mutant_topk_softmax_ids_from_1", "correct_topk_softmax"});
  EXPECT_EQ(accepted(routers, "sglang topk_softmax", ZooKernelKind::bug), Names{"mutant_topk_softmax_epsilon"});
  EXPECT_EQ(accepted(routers, "sglang topk_softmax", ZooKernelKind::correct), Names{"correct_topk_softmax"});
}

// What docs/kernels/survivors.md says of tools: absolute tolerances let zeros pass, and rows of one length few other
// bugs.
TEST(Survivors, CheckersAcceptWhatTheyAccept) {
  std::vector<Criterion> rows;
  for (const char* name : {"torchtitan bf16", "gpucheck fp32", "TorchCTS fp32", "FlashInfer-Bench", "BackendBench",
                           "gpuemu", "Hypothesis fp32"}) {
    rows.push_back(published(name));
    EXPECT_TRUE(rows.back().checker) << name;
  }
  EXPECT_FALSE(published("llm.c").checker);
  const SurvivorMatrix matrix = survivor_matrix(
      rows, zoo_kernels({"mutant_returns_zeros", "mutant_no_max_shift", "correct_two_pass"}), unjudged());
  const Names unshifted{"mutant_no_max_shift"};
  EXPECT_EQ(accepted(matrix, "FlashInfer-Bench", ZooKernelKind::bug),
            (Names{"mutant_returns_zeros", "mutant_no_max_shift"}));
  for (const char* name : {"gpucheck fp32", "TorchCTS fp32", "BackendBench", "gpuemu"}) {
    EXPECT_EQ(accepted(matrix, name, ZooKernelKind::bug), unshifted) << name;
  }
  for (const char* name : {"torchtitan bf16", "Hypothesis fp32"}) {
    EXPECT_EQ(accepted(matrix, name, ZooKernelKind::bug), Names{}) << name;
  }
  for (const Criterion& criterion : rows) {
    EXPECT_EQ(accepted(matrix, criterion.name, ZooKernelKind::correct), Names{"correct_two_pass"}) << criterion.name;
  }
}

TEST(Survivors, ThePictureHasCheckersBehindTests) {
  const std::vector<ZooKernel> zoo = zoo_kernels({"mutant_returns_zeros", "example_softmax_c"});
  const SurvivorMatrix matrix = survivor_matrix({published("TorchCTS fp32"), published("llm.c")}, zoo, unjudged());
  EXPECT_EQ(matrix.lines[0].name, "llm.c");
  const std::string svg = shares_to_svg(matrix, {"softcheck", "commit", "command"});
  EXPECT_LT(svg.find(">llm.c<"), svg.find("tools that decide about any kernel:"));
  EXPECT_LT(svg.find("tools that decide about any kernel:"), svg.find(">TorchCTS fp32<"));
  EXPECT_THAT(to_tsv(matrix, {"softcheck", "commit", "command"}),
              testing::StartsWith("# softcheck (commit commit)\n# command\nname\tkind\top\tdtype\tattribute\taccepted\t"
                                  "bugs\trejected\tcorrect\twithin\nllm.c\ttest\tsoftmax\tf32\t-\t"));
}

TEST(Survivors, ATestThatCountsFromTheLastKeyLeavesOutKernelsThatCountFromTheFirst) {
  const std::vector<ZooKernel> zoo =
      zoo_kernels({"attention_correct_attributes_top_left", "attention_correct_attributes_base_2",
                   "attention_correct_packed_online", "mutant_attention_pages_whole"});
  const auto row = [&](const char* symbol) {
    return *std::ranges::find_if(zoo, [&](const ZooKernel& s) { return s.symbol == symbol; });
  };
  EXPECT_FALSE(applies(published("FlashAttention, window"), row("attention_correct_attributes_top_left"), zoo));
  EXPECT_TRUE(applies(published("FlashAttention, window"), row("attention_correct_attributes_base_2"), zoo));
  EXPECT_TRUE(applies(published("FlashAttention varlen"), row("attention_correct_packed_online"), zoo));
  EXPECT_FALSE(applies(published("FlashAttention varlen"), row("mutant_attention_pages_whole"), zoo));
  EXPECT_FALSE(applies(published("FlashAttention varlen"), row("attention_correct_attributes_base_2"), zoo));
  EXPECT_TRUE(applies(published("vLLM paged_attention"), row("mutant_attention_pages_whole"), zoo));
}

TEST(Survivors, ATestOfAnAttributeAppliesToKernelsThatHaveIt) {
  const std::vector<ZooKernel> zoo = zoo_kernels({"mutant_attention_softcap_clamps", "mutant_attention_sink_dropped"});
  const auto row = [&](const char* symbol) {
    return *std::ranges::find_if(zoo, [&](const ZooKernel& s) { return s.symbol == symbol; });
  };
  EXPECT_TRUE(applies(published("FlashAttention, softcap"), row("mutant_attention_softcap_clamps"), zoo));
  EXPECT_FALSE(applies(published("FlashAttention, softcap"), row("mutant_attention_sink_dropped"), zoo));
  EXPECT_FALSE(applies(published("FlashAttention"), row("mutant_attention_softcap_clamps"), zoo));
}

// Whatever comes back within an infinite tolerance is accepted: only what does not come back is told apart.
TEST(Survivors, AnInfiniteToleranceAcceptsEveryWrongValue) {
  Criterion crippled = published("llm.c");
  crippled.name = "crippled";
  crippled.cases = [](Draw& draw, const Criterion&) {
    const double infinity = std::numeric_limits<double>::infinity();
    return std::vector{softmax_case({.rows = 4, .columns = 1000}, [&](auto, auto) { return 100 * draw.normal(); },
                                    {{Comparison::Rule::allclose, infinity, 0}})};
  };
  const SurvivorMatrix matrix =
      survivor_matrix({crippled},
                      zoo_kernels({"mutant_constant_one_over_n", "mutant_returns_zeros", "mutant_sum_in_bf16",
                                   "mutant_scale_twice", "mutant_crashes", "correct_two_pass"}),
                      unjudged());
  EXPECT_EQ(accepted(matrix, "crippled", ZooKernelKind::bug),
            (Names{"mutant_constant_one_over_n", "mutant_returns_zeros", "mutant_scale_twice", "mutant_sum_in_bf16"}));
}

// Where the kernel that a bug is planted in fails, the bug is not what the criterion saw.
TEST(Survivors, CasesThatTheUnspoiledKernelFailsDoNotCountForBugs) {
  Criterion harsh = published("llm.c");
  harsh.name = "harsh";
  harsh.cases = [](Draw& draw, const Criterion&) {
    return std::vector{softmax_case({.rows = 2, .columns = 10000}, [&](auto, auto) { return draw.normal(); },
                                    {{Comparison::Rule::allclose, 0, 0}})};
  };
  const SurvivorMatrix matrix =
      survivor_matrix({harsh}, zoo_kernels({"mutant_ignores_mask", "correct_two_pass"}), unjudged());
  EXPECT_EQ(accepted(matrix, "harsh", ZooKernelKind::correct), Names{});
  EXPECT_EQ(accepted(matrix, "harsh", ZooKernelKind::bug), Names{"mutant_ignores_mask"});
  EXPECT_EQ(matrix.lines.front().uncounted_cases, 1);
  // It is not the order of the zoo that says which correct kernel is asked: one that adds in double passes more cases.
  std::vector<ZooKernel> reversed = zoo_kernels({"mutant_ignores_mask", "correct_double", "correct_two_pass"});
  std::ranges::sort(reversed, {}, &ZooKernel::symbol);
  for (int order = 0; order < 2; ++order) {
    EXPECT_EQ(accepted(survivor_matrix({harsh}, reversed, unjudged()), "harsh", ZooKernelKind::bug),
              Names{"mutant_ignores_mask"});
    std::ranges::reverse(reversed);
  }
}

TEST(Survivors, ANarrowCriterionReachesAWideKernelThroughItsOwnDtype) {
  const std::vector<ZooKernel> zoo = zoo_kernels({"mutant_returns_zeros", "correct_two_pass"});
  const auto row = [&](const char* symbol) {
    return *std::ranges::find_if(zoo, [&](const ZooKernel& s) { return s.symbol == symbol && s.dtype == "f32"; });
  };
  const Criterion narrow = published("KernelBench fp16");
  EXPECT_EQ(narrow.format, Format::f16);
  ZooKernel in_f16 = row("correct_two_pass");
  in_f16.dtype = "f16";
  EXPECT_TRUE(applies(narrow, row("correct_two_pass"), {row("correct_two_pass")}));
  EXPECT_FALSE(applies(narrow, row("correct_two_pass"), {row("correct_two_pass"), in_f16}));
  EXPECT_TRUE(applies(narrow, in_f16, {row("correct_two_pass"), in_f16}));
  EXPECT_FALSE(applies(published("llm.c"), in_f16, {in_f16}));
}

TEST(Survivors, EveryCriterionIsCitedAndHasCasesOfItsOwn) {
  Names names;
  for (const Criterion& criterion : published_criteria()) {
    EXPECT_TRUE(names.insert(criterion.name).second) << criterion.name;
    for (const std::string* text : {&criterion.source, &criterion.inputs, &criterion.shapes, &criterion.tolerance}) {
      EXPECT_FALSE(text->empty()) << criterion.name;
    }
  }
  EXPECT_GE(names.size(), 10U);
}

// `softcheck run survivors` ends with this as its exit code.
TEST(Survivors, TheJudgeIsRightIfItAcceptsNoBugAndAllCorrectKernels) {
  using enum CriterionVerdict;
  const auto right = [](std::vector<CriterionVerdict> of_bug_and_correct) {
    ZooKernel bug, correct;
    bug.bug_class = "C1";
    bug.require = correct.require = correct.bug_class = "-";
    bug.expected = "fail";
    correct.expected = "pass";
    SurvivorMatrix matrix;
    matrix.kernels = {bug, correct};
    // A published test's line, of which nothing is asked, and the judge's.
    matrix.lines = {{"a test", {accepted, values}}, {"softcheck", std::move(of_bug_and_correct)}};
    return matrix.judge_is_right();
  };
  EXPECT_TRUE(right({values, accepted}));
  EXPECT_TRUE(right({crashed, not_applicable}));
  EXPECT_FALSE(right({accepted, accepted}));
  EXPECT_FALSE(right({values, values}));
  EXPECT_FALSE(right({accepted, values}));
}

TEST(Comparisons, FollowTheirRules) {
  using Rule = Comparison::Rule;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto holds = [](Comparison rule, std::vector<double> got, std::vector<double> expected) {
    return accepts(rule, got, expected, got.size());
  };
  EXPECT_TRUE(holds({Rule::allclose, 0.25, 0.5}, {1.75}, {1}));
  EXPECT_FALSE(holds({Rule::allclose, 0.25, 0.5}, {1.8}, {1}));
  EXPECT_FALSE(holds({Rule::allclose, 0.25, 0.5}, {nan}, {1}));
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(holds({Rule::allclose_or_equal, 0.25, 0.5}, {1.75, nan, -infinity}, {1, nan, -infinity}));
  EXPECT_FALSE(holds({Rule::allclose_or_equal, 0.25, 0.5}, {nan}, {1}));
  EXPECT_FALSE(holds({Rule::allclose_or_equal, 0.25, 0.5}, {1}, {nan}));
  EXPECT_FALSE(holds({Rule::allclose_or_equal, 0.25, 0.5}, {infinity}, {-infinity}));
  EXPECT_TRUE(holds({Rule::allclose_of_got, 0, 0.5}, {2}, {1}));
  EXPECT_FALSE(holds({Rule::allclose_of_got, 0, 0.5}, {0}, {1}));
  EXPECT_TRUE(holds({Rule::squares, 0.5, 0}, {1.2}, {1}));
  EXPECT_FALSE(holds({Rule::squares, 0.5, 0}, {1.3}, {1}));
  EXPECT_TRUE(holds({Rule::mean_square, 0, 0.25}, {2, 0}, {1, 0}));
  EXPECT_FALSE(holds({Rule::mean_square, 0, 0.2}, {2, 0}, {1, 0}));
  EXPECT_FALSE(holds({Rule::mean_square, 0, 1}, {nan, 0}, {1, 0}));
  EXPECT_TRUE(holds({Rule::relative_or_epsilon, 0, 0.1}, {1.05}, {1}));
  EXPECT_FALSE(holds({Rule::relative_or_epsilon, 0, 0.1}, {1.2}, {1}));
  EXPECT_TRUE(holds({Rule::relative_or_epsilon, 0, 0}, {1e-7}, {0}));
  EXPECT_TRUE(holds({Rule::row_sums, 0.1, 0.1}, {0.5, 0.65}, {0, 0}));
  EXPECT_FALSE(holds({Rule::row_sums, 0.1, 0.1}, {0.5, 0.75}, {0, 0}));
  EXPECT_TRUE(holds({Rule::total, 0.1, 0}, {0.5, 0.55}, {0, 0}));
  EXPECT_FALSE(holds({Rule::total, 0.1, 0}, {nan, 0.5}, {0, 0}));
  EXPECT_FALSE(holds({Rule::between_zero_and_one}, {0.5, -1e-9}, {0, 0}));
  EXPECT_TRUE(holds({Rule::first_takes_all, 0.01}, {0.995, 0.005}, {0, 0}));
  EXPECT_FALSE(holds({Rule::first_takes_all, 0.01}, {0.995, 0.02}, {0, 0}));
}

}  // namespace
}  // namespace softcheck::proptests
