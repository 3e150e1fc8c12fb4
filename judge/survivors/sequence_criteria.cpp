#include <cmath>
#include <vector>

#include "judge/survivors/published.hpp"
#include "judge/survivors/sequence_case.hpp"

namespace softcheck::proptests {
namespace {

using numerics::Format;
using Rule = Comparison::Rule;

struct LongestLengths {
  std::int64_t queries, keys;
};

// test_flash_attn_varlen_output: each sequence is up to 20 positions shorter than the longest one.
std::vector<CriterionCase> varlen_cases(Draw& draw) {
  std::vector<CriterionCase> cases;
  for (const LongestLengths longest : {LongestLengths{113, 203}, LongestLengths{128, 217}, LongestLengths{108, 256},
                                       LongestLengths{256, 512}, LongestLengths{512, 256}}) {
    for (const int dim : {59, 128}) {
      for (const bool causal : {false, true}) {
        if (causal && longest.queries > longest.keys) continue;
        std::vector<PublishedTensors> sequences;
        for (int b = 0; b < 2; ++b) {
          sequences.push_back(taken({.heads = 6,
                                     .queries = longest.queries - static_cast<std::int64_t>(draw.below(21)),
                                     .keys = longest.keys - static_cast<std::int64_t>(draw.below(21)),
                                     .dim = dim,
                                     .scale = 1 / std::sqrt(static_cast<double>(dim)),
                                     .causal = causal}));
        }
        cases.push_back(packed_case(
            sequences, [&] { return draw.normal(); }, {}, 2));
      }
    }
  }
  return cases;
}

Criterion flash_varlen() {
  return {
      .name = "FlashAttention varlen",
      .source = "Dao-AILab/flash-attention tests/test_flash_attn.py@0251105 (test_flash_attn_varlen_output)",
      .op = "attention",
      .format = Format::f16,
      .inputs = "normal, sd 1",
      .shapes = "4 sequences x 6 x {(113, 203) ... (512, 256)}, each up to 20 shorter, x {59, 128}, causal and not",
      .tolerance = "twice the largest error of PyTorch in fp16",
      .attribute = "packed",
      .from_the_end = true,
      .deviation =
          "two sequences, two of its eleven dimensions, five of its eleven pairs of lengths; fp16 alone; its "
          "gradients, dropout, windows, ALiBi, softcap and grouped heads are left out; causal only where every query "
          "sees a key; PyTorch in fp16 is simulated",
      .cases = varlen_cases};
}

// test_paged_attention: one query for each sequence; q, k and v uniform in +-1/sqrt(dim); atol = 1e-3, rtol = 1e-5.
std::vector<CriterionCase> paged_cases(Draw& draw) {
  constexpr std::int64_t longest = 65536 / 4 - 512;  // floats in the shared memory of an AMD GPU, less a buffer
  std::vector<CriterionCase> cases;
  for (const int dim : {64, 128}) {
    for (const std::int64_t page : {16, 32}) {
      const double scale = 1 / std::sqrt(static_cast<double>(dim));
      std::vector<PublishedTensors> sequences;
      for (int b = 0; b < 2; ++b) {
        const auto drawn = 1 + static_cast<std::int64_t>(draw.below(static_cast<std::uint64_t>(longest)));
        sequences.push_back({.heads = 1, .keys = b == 1 ? longest : drawn, .dim = dim, .scale = scale});
      }
      cases.push_back(paged_case(sequences, page, draw, [&] { return scale * (2 * draw.unit() - 1); },
                                 {{Rule::allclose, 1e-3, 1e-5}}));
    }
  }
  return cases;
}

Criterion vllm_paged() {
  return {
      .name = "vLLM paged_attention",
      .source = "vllm-project/vllm tests/kernels/attention/test_attention.py@00df075",
      .op = "attention",
      .format = Format::f16,
      .inputs = "uniform in [-1/sqrt(dim), 1/sqrt(dim))",
      .shapes = "7 sequences of 1 to 15872 keys x {32, 40, 64} heads x 1 query x {64, 128}, pages of 16 and 32",
      .tolerance = "1e-3 + 1e-5 |o|",
      .attribute = "pages",
      .deviation =
          "two sequences, one head, 4 caches in place of 4321 pages; no page stands in two sequences; no ALiBi, no fp8",
      .cases = paged_cases};
}

}  // namespace

std::vector<Criterion> sequence_criteria() { return {flash_varlen(), vllm_paged()}; }

}  // namespace softcheck::proptests
