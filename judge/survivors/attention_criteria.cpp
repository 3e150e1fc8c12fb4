#include <cmath>

#include "judge/survivors/attention_case.hpp"
#include "judge/survivors/published.hpp"

namespace softcheck::proptests {
namespace {

using numerics::Format;
using Rule = Comparison::Rule;

double standard_scale(std::int64_t dim) { return 1 / std::sqrt(static_cast<double>(dim)); }

// KernelBench, level 1, problem 97: torch.rand(32, 32, 512, 1024) in fp16; five trials, atol = rtol = 1e-2.
Criterion kernelbench() {
  return {.name = "KernelBench 97 fp16",
          .source =
              "ScalingIntelligence/KernelBench src/kernelbench/eval.py@0d12226; problem "
              "97_ScaledDotProductAttention as in gimletlabs/KernelBench@8e02d67",
          .op = "attention",
          .format = Format::f16,
          .inputs = "uniform in [0, 1)",
          .shapes = "32 x 32 x 512 x 512 x 1024, 5 trials",
          .tolerance = "1e-2 + 1e-2 |o|",
          .cases = [](Draw& draw) {
            const PublishedTensors tensors = taken(
                {.batch = 32, .heads = 32, .queries = 512, .keys = 512, .dim = 1024, .scale = standard_scale(1024)});
            std::vector<CriterionCase> cases;
            for (int trial = 0; trial < 5; ++trial) {
              cases.push_back(attention_case(tensors, [&] { return draw.unit(); }, {{Rule::allclose, 1e-2, 1e-2}}));
            }
            return cases;
          }};
}

// test_fused_attention_fwd: jax.random.normal in float16, (batch, length, heads, dim), mha's scale 1, assert_allclose
// with atol = 0.05 and rtol = 1e-7.
std::vector<CriterionCase> pallas_cases(Draw& draw) {
  std::vector<CriterionCase> cases;
  for (const int batch : {1, 2}) {
    for (const int length : {128, 384}) {
      for (const int heads : {1, 2}) {
        for (const int dim : {32, 64, 128}) {
          for (const bool causal : {true, false}) {
            cases.push_back(attention_case(taken({.batch = batch,
                                                  .heads = heads,
                                                  .queries = length,
                                                  .keys = length,
                                                  .dim = dim,
                                                  .causal = causal,
                                                  .heads_inside = true}),
                                           [&] { return draw.normal(); }, {{Rule::allclose, 0.05, 1e-7}}));
          }
        }
      }
    }
  }
  return cases;
}

Criterion jax_pallas_attention() {
  return {.name = "JAX Pallas attention",
          .source = "jax-ml/jax tests/pallas/gpu_ops_test.py@0a68794 (test_fused_attention_fwd)",
          .op = "attention",
          .format = Format::f16,
          .inputs = "normal, sd 1; scale 1",
          .shapes = "{1, 2} x {1, 2, 8} heads x {128, 384} x {32, 64, 128}, causal and not",
          .tolerance = "0.05 + 1e-7 |o|",
          .deviation = "segment ids are left out; all combinations, where the source samples",
          .cases = pallas_cases};
}

// Tutorial 06: N(0, 0.5) in fp16, scale 0.5, causal; atol = 1e-2, rtol = 0.
Criterion triton_tutorial_attention() {
  return {.name = "Triton tutorial 06",
          .source = "triton-lang/triton python/tutorials/06-fused-attention.py@003da47 (test_op with (1, 2, 1024, 64))",
          .op = "attention",
          .format = Format::f16,
          .inputs = "normal, sd 0.5; scale 0.5",
          .shapes = "1 x 2 x 1024 x 1024 x 64, causal",
          .tolerance = "1e-2",
          .cases = [](Draw& draw) {
            return std::vector{attention_case(
                taken({.heads = 2, .queries = 1024, .keys = 1024, .dim = 64, .scale = 0.5, .causal = true}),
                [&] { return 0.5 * draw.normal(); }, {{Rule::allclose, 1e-2, 0}})};
          }};
}

// test_flash_attn_ext: uniform in [-1, 1], K and V in f16, normalized mean square error at most 5e-4.
std::vector<CriterionCase> ggml_attention_cases(Draw& draw) {
  std::vector<CriterionCase> cases;
  for (const int dim : {64, 80, 128, 256}) {
    for (const int keys : {512, 1024}) {
      for (const int queries : {1, 2, 4, 8}) {
        cases.push_back(attention_case(
            taken({.heads = 32, .queries = queries, .keys = keys, .dim = dim, .scale = standard_scale(dim)}),
            [&] { return 2 * draw.unit() - 1; }, {{Rule::mean_square, 0, 5e-4}}));
      }
    }
  }
  return cases;
}

Criterion ggml_attention() {
  return {.name = "ggml flash_attn_ext",
          .source = "ggerganov/llama.cpp tests/test-backend-ops.cpp@0012f2c",
          .op = "attention",
          .format = Format::f16,
          .inputs = "uniform in [-1, 1]",
          .shapes = "32 heads x {1, 2, 4, 8} x {512, 1024} x {64, 80, 128, 256}",
          .tolerance = "mean square error 5e-4 of the mean square",
          .deviation = "cases with an additive mask and quantized K and V are left out; Q is f16 as K and V",
          .cases = ggml_attention_cases};
}

// test_fast_sdpa: normal in float32, (1, 3, 20, 64), allclose with atol = 1e-4 and rtol = 1e-5.
Criterion mlx_attention() {
  return {
      .name = "MLX fast sdpa",
      .source = "ml-explore/mlx python/tests/test_fast_sdpa.py (TestFastSelfAttentionSDPA.test_fast_sdpa)",
      .op = "attention",
      .format = Format::f32,
      .inputs = "normal, sd 1",
      .shapes = "1 x 3 x 20 x 20 x 64",
      .tolerance = "1e-4 + 1e-5 |o|",
      .deviation = "its first, float32 case",
      .cases = [](Draw& draw) {
        return std::vector{attention_case(
            taken(
                {.format = Format::f32, .heads = 3, .queries = 20, .keys = 20, .dim = 64, .scale = standard_scale(64)}),
            [&] { return draw.normal(); }, {{Rule::allclose, 1e-4, 1e-5}})};
      }};
}

// test_flash_attn_output: torch.randn in fp16; the largest error at most twice that of PyTorch in fp16.
std::vector<CriterionCase> flash_attention_cases(Draw& draw) {
  struct Lengths {
    int queries, keys;
  };
  std::vector<CriterionCase> cases;
  for (const Lengths lengths :
       {Lengths{113, 203}, Lengths{128, 217}, Lengths{113, 211}, Lengths{108, 256}, Lengths{256, 512},
        Lengths{512, 256}, Lengths{1024, 1024}, Lengths{1023, 1024}, Lengths{1024, 1023}, Lengths{2048, 2048}}) {
    for (const int dim : {59, 128}) {
      for (const bool causal : {false, true}) {
        if (causal && lengths.queries > lengths.keys) continue;
        const PublishedTensors tensors = taken({.batch = 4,
                                                .heads = 6,
                                                .queries = lengths.queries,
                                                .keys = lengths.keys,
                                                .dim = dim,
                                                .scale = standard_scale(dim),
                                                .causal = causal,
                                                .heads_inside = true});
        CriterionCase next = attention_case(tensors, [&] { return draw.normal(); }, {});
        next.comparisons = {{Rule::allclose, 2 * error_of_unfused(tensors, next), 0}};
        cases.push_back(std::move(next));
      }
    }
  }
  return cases;
}

Criterion flash_attention() {
  return {.name = "FlashAttention",
          .source = "Dao-AILab/flash-attention tests/test_flash_attn.py@0251105 (test_flash_attn_output)",
          .op = "attention",
          .format = Format::f16,
          .inputs = "normal, sd 1",
          .shapes = "4 x 6 x {(113, 203) ... (2048, 2048)} x {59, 128}, causal and not",
          .tolerance = "twice the largest error of PyTorch in fp16",
          .deviation =
              "two of its eleven dimensions; no dropout, windows, ALiBi or grouped heads; causal only where "
              "every query sees a key; PyTorch in fp16 is simulated",
          .cases = flash_attention_cases};
}

}  // namespace

std::vector<Criterion> attention_criteria() {
  return {kernelbench(),    jax_pallas_attention(), triton_tutorial_attention(),
          ggml_attention(), mlx_attention(),        flash_attention()};
}

}  // namespace softcheck::proptests
