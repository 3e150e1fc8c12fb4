#include "judge/survivors/published.hpp"
#include "judge/survivors/softmax_case.hpp"

namespace softcheck::proptests {
namespace {

using numerics::Format;
using Rule = Comparison::Rule;

// KernelBench, level 1, problem 23: torch.rand(4096, 393216); five trials of torch.allclose, atol = rtol = 1e-4 in fp32
// and 1e-2 in fp16 and bf16 (get_tolerance_for_precision).
std::vector<CriterionCase> kernelbench_cases(Draw& draw, Format format, double tolerance) {
  constexpr std::int64_t columns = 393216;
  constexpr int trials = 5;
  std::vector<CriterionCase> cases;
  for (int trial = 0; trial < trials; ++trial) {
    cases.push_back(softmax_case({.format = format, .rows = rows_taken(4096, columns), .columns = columns},
                                 [&](auto, auto) { return draw.unit(); }, {{Rule::allclose, tolerance, tolerance}}));
  }
  return cases;
}

Criterion kernelbench(const char* name, Format format, double tolerance, const char* tolerance_text) {
  return {.name = name,
          .source =
              "ScalingIntelligence/KernelBench src/kernelbench/eval.py@0d12226; problem 23_Softmax as in "
              "sfc-gh-goliaro/KernelBench@0f87aa0",
          .format = format,
          .inputs = "uniform in [0, 1)",
          .shapes = "4096 x 393216, 5 trials",
          .tolerance = tolerance_text,
          .cases = [=](Draw& draw) { return kernelbench_cases(draw, format, tolerance); }};
}

// robust-kbench judges KernelBench's task 23 in its first form: torch.randn(16, 16384), five trials of
// torch.allclose, atol = rtol = 1e-5 (check_forward_correctness).
Criterion robust_kbench() {
  return {.name = "robust-kbench",
          .source =
              "gabriel-jcx/robust-kbench (copy of SakanaAI/robust-kbench) "
              "tasks/kernelbench/level_1/task_23/func_forward.py; LeoXinhaoLee/robust-kbench-fork "
              "robust_kbench/primitives/forward/cuda_correct.py@b84c174",
          .inputs = "normal, sd 1",
          .shapes = "16 x 16384, 5 trials",
          .tolerance = "1e-5 + 1e-5 |p|",
          .cases = [](Draw& draw) {
            std::vector<CriterionCase> cases;
            for (int trial = 0; trial < 5; ++trial) {
              cases.push_back(softmax_case({.rows = rows_taken(16, 16384), .columns = 16384},
                                           [&](auto, auto) { return draw.normal(); }, {{Rule::allclose, 1e-5, 1e-5}}));
            }
            return cases;
          }};
}

// dev/cuda/softmax_forward.cu: B = 8, T = 1024, rows B * T of T values in [-1, 1], |difference| <= 1e-4; the same data
// for every block size.
Criterion llm_c() {
  return {
      .name = "llm.c",
      .source = "karpathy/llm.c dev/cuda/softmax_forward.cu@00010c7",
      .inputs = "uniform in [-1, 1]",
      .shapes = "8192 x 1024",
      .tolerance = "1e-4",
      .cases = [](Draw& draw) {
        return std::vector{softmax_case({.rows = rows_taken(8192, 1024), .columns = 1024},
                                        [&](auto, auto) { return 2 * draw.unit() - 1; }, {{Rule::allclose, 1e-4, 0}})};
      }};
}

// Tutorial 02: torch.randn(1823, 781) and torch.allclose at its defaults, rtol = 1e-5 and atol = 1e-8.
Criterion triton_tutorial() {
  return {.name = "Triton tutorial 02",
          .source = "triton-lang/triton python/tutorials/02-fused-softmax.py@066e1eb",
          .inputs = "normal, sd 1",
          .shapes = "1823 x 781",
          .tolerance = "1e-8 + 1e-5 |p|",
          .cases = [](Draw& draw) {
            return std::vector{softmax_case({.rows = rows_taken(1823, 781), .columns = 781},
                                            [&](auto, auto) { return draw.normal(); }, {{Rule::allclose, 1e-8, 1e-5}})};
          }};
}

}  // namespace

std::vector<Criterion> benchmark_criteria() {
  return {kernelbench("KernelBench fp16", Format::f16, 1e-2, "1e-2 + 1e-2 |p|"),
          kernelbench("KernelBench fp32", Format::f32, 1e-4, "1e-4 + 1e-4 |p|"), robust_kbench(), llm_c(),
          triton_tutorial()};
}

}  // namespace softcheck::proptests
