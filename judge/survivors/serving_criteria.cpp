#include <limits>

#include "judge/survivors/published.hpp"
#include "judge/survivors/serving_case.hpp"
#include "judge/survivors/softmax_case.hpp"

namespace softcheck::proptests {
namespace {

using numerics::Format;
using Rule = Comparison::Rule;

// test_merge_attn_states: a tenth of the prefixes and of the suffixes is empty, never both of one row.
std::vector<double> states_of_vllm(Draw& draw, std::int64_t rows) {
  const auto count = static_cast<std::size_t>(rows);
  std::vector<double> lse(2 * count);
  for (double& value : lse) value = numerics::round_to(Format::f32, draw.normal());
  for (std::size_t row = 0; row < count; ++row) {
    const bool no_prefix = draw.one_in(10), no_suffix = draw.one_in(10);
    if (no_prefix == no_suffix) continue;
    lse[no_prefix ? row : count + row] = -std::numeric_limits<double>::infinity();
  }
  return lse;
}

Criterion vllm_merge(const char* name, Format format, double relative, const char* tolerance) {
  return {
      .name = name,
      .source = "vllm-project/vllm tests/kernels/attention/test_merge_attn_states.py@073c5a8",
      .op = "merge_states",
      .format = format,
      .inputs = "normal, sd 1; a tenth of the parts empty, never both of a row",
      .shapes = "{256 ... 4096} tokens x {4 ... 64} heads x {32, 48, 64, 96, 128, 256}",
      .tolerance = tolerance,
      .deviation =
          "an empty part's log-sum-exp is -inf, where the source writes +inf; against the exact values, "
          "where the source takes its Triton kernel's; no fp8, no tokens without a prefix",
      .cases = [=](Draw& draw) {
        std::vector<CriterionCase> cases;
        for (const std::int64_t dim : {32, 48, 64, 96, 128, 256}) {
          const std::int64_t rows = rows_taken(4096 * 64, dim);
          cases.push_back(merge_case({.format = format, .rows = rows, .dim = dim, .lse = states_of_vllm(draw, rows)},
                                     [&] { return draw.normal(); }, {{Rule::allclose, 1e-3, relative}}));
        }
        return cases;
      }};
}

// test_topk_softmax: torch.randn, weights by allclose with 1e-3, ids equal to torch.topk's.
Criterion sglang_topk() {
  return {.name = "sglang topk_softmax",
          .source = "sgl-project/sglang sgl-kernel/tests/test_moe_topk_softmax.py@01d25dd",
          .op = "topk_softmax",
          .inputs = "normal, sd 1",
          .shapes = "{1, 16, 128, 512, 1024, 2048} tokens x {4, 8, 16, 32, 64, 128, 256} experts, k of 1, 2, 4",
          .tolerance = "1e-3 + 1e-3 |got|; equal ids",
          .cases = [](Draw& draw) {
            std::vector<CriterionCase> cases;
            for (const std::int64_t tokens : {1, 16, 128, 512, 1024, 2048}) {
              for (const std::int64_t experts : {4, 8, 16, 32, 64, 128, 256}) {
                for (const std::int32_t k : {1, 2, 4}) {
                  cases.push_back(topk_case({.tokens = rows_taken(tokens, experts), .experts = experts, .k = k},
                                            [&] { return draw.normal(); }, {{Rule::allclose_of_got, 1e-3, 1e-3}}));
                }
              }
            }
            return cases;
          }};
}

// test_fused_topk in float32: weights by assert_close with 1e-2, ids equal to torch.topk's.
Criterion vllm_topk() {
  return {
      .name = "vLLM fused_topk",
      .source = "vllm-project/vllm tests/kernels/moe/test_fused_topk.py@08011e0",
      .op = "topk_softmax",
      .inputs = "normal, sd 1",
      .shapes = "{1, 33, 56} tokens x {6, 16} experts, k of 3 and 4, renormalized and not",
      .tolerance = "1e-2 + 1e-2 |got|; equal ids",
      .deviation = "float32 alone; without its rows of NaN and of infinities, which ask for vLLM's own convention",
      .cases = [](Draw& draw) {
        std::vector<CriterionCase> cases;
        for (const std::int64_t tokens : {1, 33, 56}) {
          for (const std::int64_t experts : {6, 16}) {
            for (const std::int32_t k : {3, 4}) {
              for (const bool renormalize : {true, false}) {
                cases.push_back(topk_case({.tokens = tokens, .experts = experts, .k = k, .renormalize = renormalize},
                                          [&] { return draw.normal(); }, {{Rule::allclose_of_got, 1e-2, 1e-2}}));
              }
            }
          }
        }
        return cases;
      }};
}

}  // namespace

std::vector<Criterion> serving_criteria() {
  return {vllm_merge("vLLM merge_attn_states", Format::f32, 1e-3, "1e-3 + 1e-3 |o|"),
          vllm_merge("vLLM merge_attn_states bf16", Format::bf16, 1e-2, "1e-3 + 1e-2 |o|"), sglang_topk(), vllm_topk()};
}

}  // namespace softcheck::proptests
