#include <cmath>
#include <string>

#include "judge/survivors/attention_case.hpp"
#include "judge/survivors/published.hpp"

namespace softcheck::proptests {
namespace {

using numerics::Format;
using Rule = Comparison::Rule;

struct AttributeLengths {
  std::int64_t queries, keys;
};
// Of test_flash_attn_output's, those in which every query has a key of its own.
constexpr AttributeLengths attribute_lengths[] = {{113, 203}, {128, 217},   {113, 211},   {108, 256},
                                                  {256, 512}, {1024, 1024}, {1023, 1024}, {2048, 2048}};

// Queries are multiplied by the softcap, so that scores reach it; windows are two lengths below that of the keys;
// slopes are 0.3 times uniform ones.
PublishedTensors with_attribute(Draw& draw, const std::string& attribute, PublishedTensors tensors) {
  const auto keys = static_cast<std::uint64_t>(tensors.keys);
  if (attribute == "softcap") tensors.softcap = 50;
  if (attribute == "window") {
    tensors.window_left = static_cast<std::int64_t>(draw.below(keys));
    tensors.window_right = static_cast<std::int64_t>(draw.below(keys));
  }
  for (std::int64_t head = 0; attribute == "alibi" && head < tensors.heads; ++head) {
    tensors.slopes.push_back(numerics::round_to(Format::f32, 0.3 * draw.unit()));
  }
  return tensors;
}

std::vector<CriterionCase> attributed_cases(Draw& draw, const std::string& attribute) {
  std::vector<CriterionCase> cases;
  for (const AttributeLengths lengths : attribute_lengths) {
    for (const int dim : {59, 128}) {
      for (const bool causal : {false, true}) {
        const PublishedTensors tensors = with_attribute(draw, attribute,
                                                        taken({.batch = 4,
                                                               .heads = 4,
                                                               .queries = lengths.queries,
                                                               .keys = lengths.keys,
                                                               .dim = dim,
                                                               .scale = 1 / std::sqrt(static_cast<double>(dim)),
                                                               .causal = causal,
                                                               .heads_inside = true}));
        // The queries are drawn first.
        std::int64_t queries = tensors.batch * tensors.heads * tensors.queries * tensors.dim;
        const auto value = [&] {
          const bool scaled = queries-- > 0 && tensors.softcap > 0;
          return (scaled ? tensors.softcap : 1) * draw.normal();
        };
        CriterionCase next = attention_case(tensors, value, {});
        next.comparisons = {{Rule::allclose, 2 * error_of_unfused(tensors, next), 0}};
        cases.push_back(std::move(next));
      }
    }
  }
  return cases;
}

Criterion flash_attention_with(const char* name, const char* attribute, const char* inputs) {
  return {.name = name,
          .source = "Dao-AILab/flash-attention tests/test_flash_attn.py@0251105 (test_flash_attn_output)",
          .op = "attention",
          .format = Format::f16,
          .inputs = inputs,
          .shapes = "4 x 4 x {(113, 203) ... (2048, 2048)} x {59, 128}, causal and not",
          .tolerance = "twice the largest error of PyTorch in fp16",
          .attribute = attribute,
          .from_the_end = true,
          .deviation =
              "two of its eleven dimensions; no dropout, no grouped heads; only lengths at which every query has a key "
              "of its own; slopes of heads, where the source has them of heads and batches; PyTorch in fp16 is "
              "simulated",
          .cases = [=](Draw& draw) { return attributed_cases(draw, attribute); }};
}

}  // namespace

std::vector<Criterion> attribute_criteria() {
  return {flash_attention_with("FlashAttention, softcap", "softcap", "normal, sd 1, queries times the softcap 50"),
          flash_attention_with("FlashAttention, window", "window", "normal, sd 1; both sides uniform below the keys"),
          flash_attention_with("FlashAttention, ALiBi", "alibi", "normal, sd 1; slopes uniform in [0, 0.3)")};
}

}  // namespace softcheck::proptests
