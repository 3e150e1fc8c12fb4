#include <cmath>
#include <string>

#include "judge/survivors/attention_gradient_case.hpp"
#include "judge/survivors/published.hpp"

namespace softcheck::proptests {
namespace {

using numerics::Format;
using Rule = Comparison::Rule;

struct GradientLengths {
  std::int64_t queries, keys;
};

// test_flash_attn_output: a gradient may err three times as far as PyTorch's in fp16.
std::vector<CriterionCase> flash_gradient_cases(Draw& draw, bool windows) {
  std::vector<CriterionCase> cases;
  for (const GradientLengths lengths :
       {GradientLengths{113, 203}, GradientLengths{128, 217}, GradientLengths{108, 256}, GradientLengths{256, 512},
        GradientLengths{1024, 1024}, GradientLengths{1023, 1024}}) {
    for (const int dim : {59, 128}) {
      for (const bool causal : {false, true}) {
        PublishedTensors tensors = taken({.batch = 4,
                                          .heads = 6,
                                          .queries = lengths.queries,
                                          .keys = lengths.keys,
                                          .dim = dim,
                                          .scale = 1 / std::sqrt(static_cast<double>(dim)),
                                          .causal = causal,
                                          .heads_inside = true});
        if (windows) {
          tensors.window_left = static_cast<std::int64_t>(draw.below(static_cast<std::uint64_t>(tensors.keys)));
          tensors.window_right = static_cast<std::int64_t>(draw.below(static_cast<std::uint64_t>(tensors.keys)));
        }
        const auto normal = [&] { return draw.normal(); };
        GradientCase next = attention_gradient_case(tensors, normal, normal);
        std::vector<Comparison> of_each;
        for (const double error : next.errors_of_unfused) of_each.push_back({Rule::allclose, 3 * error, 0});
        ask_gradients(next.criterion_case, of_each);
        cases.push_back(std::move(next.criterion_case));
      }
    }
  }
  return cases;
}

Criterion flash_gradient(const char* name, const char* attribute, const char* inputs) {
  const bool windows = *attribute != '\0';
  return {
      .name = name,
      .source = "Dao-AILab/flash-attention tests/test_flash_attn.py@0251105 (test_flash_attn_output)",
      .op = "attention_backward",
      .format = Format::f16,
      .inputs = inputs,
      .shapes = "4 x 6 x {(113, 203) ... (1024, 1024)} x {59, 128}, causal and not",
      .tolerance = "three times the largest error of PyTorch in fp16, each of dq, dk, dv",
      .attribute = attribute,
      .from_the_end = true,
      .deviation =
          "two of its eleven dimensions, six of its ten pairs of lengths, at which every query has a key of its "
          "own; fp16 alone; no dropout, ALiBi, softcap or grouped heads; saved outputs are the exact ones, rounded; "
          "PyTorch in fp16 is simulated",
      .cases = [=](Draw& draw) { return flash_gradient_cases(draw, windows); }};
}

// Tutorial 06: N(0, 0.5) in fp16, scale 0.5, causal, a gradient of N(0, 1); atol = 1e-2, rtol = 0, but for AMD's
// gfx90a.
Criterion triton_tutorial_gradient() {
  return {.name = "Triton tutorial 06 gradient",
          .source = "triton-lang/triton python/tutorials/06-fused-attention.py@003da47 (test_op with (1, 2, 1024, 64))",
          .op = "attention_backward",
          .format = Format::f16,
          .inputs = "normal, sd 0.5; scale 0.5; the gradient normal, sd 1",
          .shapes = "1 x 2 x 1024 x 1024 x 64, causal",
          .tolerance = "1e-2, each of dq, dk, dv",
          .deviation = "saved outputs are the exact ones, rounded; later versions have batches, heads and lengths more",
          .cases = [](Draw& draw) {
            GradientCase only = attention_gradient_case(
                taken({.heads = 2, .queries = 1024, .keys = 1024, .dim = 64, .scale = 0.5, .causal = true}),
                [&] { return 0.5 * draw.normal(); }, [&] { return draw.normal(); });
            ask_gradients(only.criterion_case, std::vector<Comparison>(3, {Rule::allclose, 1e-2, 0}));
            return std::vector{std::move(only.criterion_case)};
          }};
}

}  // namespace

std::vector<Criterion> attention_gradient_criteria() {
  return {triton_tutorial_gradient(), flash_gradient("FlashAttention gradient", "", "normal, sd 1"),
          flash_gradient("FlashAttention gradient, window", "window",
                         "normal, sd 1; both sides of a window uniform below the keys")};
}

}  // namespace softcheck::proptests
