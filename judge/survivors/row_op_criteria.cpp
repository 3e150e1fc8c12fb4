#include <cmath>
#include <limits>

#include "judge/survivors/published.hpp"
#include "judge/survivors/row_case.hpp"

namespace softcheck::proptests {
namespace {

using numerics::Format;
using Rule = Comparison::Rule;

// The second half of test_liger_softmax: grad_output is torch.randn, compared with atol = rtol.
CriterionCases liger_gradient(double tolerance) {
  return [=](Draw& draw, const Criterion& criterion) {
    constexpr MatrixShape shapes[] = {{2, 8},    {4, 16},   {1, 1023},  {21, 256},
                                      {1, 4096}, {2, 4096}, {2, 70000}, {3, 70000}};
    std::vector<CriterionCase> cases;
    for (const auto& [rows, columns] : shapes) {
      cases.push_back(softmax_gradient_case(
          draw, {.format = criterion.format, .rows = rows_taken(rows, columns), .columns = columns},
          allclose_of_got(tolerance, tolerance)));
    }
    return cases;
  };
}

// test_merge_attn_states: a tenth of the prefixes and of the suffixes is empty, never both in one row.
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

CriterionCases vllm_merge(double relative) {
  return [=](Draw& draw, const Criterion& criterion) {
    std::vector<CriterionCase> cases;
    for (const std::int64_t dim : {32, 48, 64, 96, 128, 256}) {
      const std::int64_t rows = rows_taken(4096 * 64, dim);
      cases.push_back(merge_case(
          {.format = criterion.format, .rows = rows, .dim = dim, .lse = states_of_vllm(draw, rows)},
          [&] { return draw.normal(); }, allclose(1e-3, relative)));
    }
    return cases;
  };
}

// test_topk_softmax: torch.randn, weights by allclose with 1e-3, ids equal to torch.topk's.
std::vector<CriterionCase> sglang_topk(Draw& draw, const Criterion& criterion) {
  std::vector<CriterionCase> cases;
  for (const auto& [tokens, experts] : shapes_of({1, 16, 128, 512, 1024, 2048}, {4, 8, 16, 32, 64, 128, 256})) {
    for (const std::int32_t k : {1, 2, 4}) {
      cases.push_back(softmax_case(
          {.op = criterion.op, .rows = rows_taken(tokens, experts), .columns = experts, .k = k},
          [&](auto, auto) { return draw.normal(); }, allclose_of_got(1e-3, 1e-3)));
    }
  }
  return cases;
}

// test_fused_topk in float32: weights by assert_close with 1e-2, ids equal to torch.topk's.
std::vector<CriterionCase> vllm_topk(Draw& draw, const Criterion& criterion) {
  std::vector<CriterionCase> cases;
  for (const auto& [tokens, experts] : shapes_of({1, 33, 56}, {6, 16})) {
    for (const std::int32_t k : {3, 4}) {
      for (const bool renormalize : {true, false}) {
        cases.push_back(softmax_case(
            {.op = criterion.op, .rows = tokens, .columns = experts, .k = k, .renormalize = renormalize},
            [&](auto, auto) { return draw.normal(); }, allclose_of_got(1e-2, 1e-2)));
      }
    }
  }
  return cases;
}

// test_top_p_renorm_probs: probabilities are uniform numbers over their sum; assert_close with 1e-3.
std::vector<CriterionCase> flashinfer_top_p(Draw& draw, const Criterion& criterion) {
  std::vector<CriterionCase> cases;
  for (const auto& [rows, columns] : shapes_of({1, 99, 989}, {111, 32000, 128256})) {
    for (const double p : {0.1, 0.5, 0.9, 1.0}) {
      cases.push_back(softmax_case(
          {.op = criterion.op, .rows = rows_taken(rows, columns), .columns = columns, .top_p = p},
          [&](auto, auto) { return std::log(1 - draw.unit()); }, allclose_of_got(1e-3, 1e-3)));
    }
  }
  return cases;
}

// test_topp_only: the numbers of kept items differ by at most 3, or by less than half a percent of the largest number
// in a row. p is 1 in a quarter of the rows, and uniform in [0.1, 1) in the others.
std::vector<CriterionCase> vllm_top_p(Draw& draw, const Criterion& criterion) {
  std::vector<CriterionCase> cases;
  for (const auto& [rows, columns] : shapes_of({1, 8, 32, 128, 512, 1024}, {1024, 32000, 128256})) {
    const double p = draw.one_in(4) ? 1 : 0.1 + 0.9 * draw.unit();
    cases.push_back(
        softmax_case({.op = criterion.op, .rows = rows_taken(rows, columns), .columns = columns, .top_p = p},
                     [&](auto, auto) { return draw.normal(); }, {{Rule::saved_counts, 3, 5e-3}}));
  }
  return cases;
}

// test_sparsemax: torch.randn / 2, ten times; the squared distance from a bisection is below 1e-7.
std::vector<CriterionCase> entmax_sparsemax(Draw& draw, const Criterion& criterion) {
  std::vector<CriterionCase> cases;
  for (int trial = 0; trial < 10; ++trial) {
    cases.push_back(softmax_case({.op = criterion.op, .rows = 10, .columns = 30000},
                                 [&](auto, auto) { return 0.5 * draw.normal(); }, {{Rule::square_sum, 1e-7, 0}}));
  }
  return cases;
}

// sparsemax_test.py: uniform logits along three axes, equal ones, and rows (t, 0); assert_allclose_according_to_type.
std::vector<CriterionCase> tensorflow_sparsemax(Draw& draw, const Criterion& criterion) {
  const auto rows_of = [&](std::int64_t rows, std::int64_t columns, const LogitSource& logit) {
    return softmax_case({.op = criterion.op, .rows = rows, .columns = columns}, logit, allclose(1e-6, 1e-6));
  };
  std::vector<CriterionCase> cases;
  for (const std::int64_t rows : {17, 1, 17 * 17}) {
    cases.push_back(rows_of(rows, 10, [&](auto, auto) { return 6 * draw.unit() - 3; }));
  }
  cases.push_back(rows_of(1, 10, [](auto, auto) { return 0.0; }));
  cases.push_back(rows_of(
      17, 2, [](auto row, auto column) { return column == 0 ? -2 + 4.0 * static_cast<double>(row) / 16 : 0.0; }));
  return cases;
}

}  // namespace

std::vector<NamedCases> row_cases_of_ops() {
  return {{"Liger softmax gradient fp32", liger_gradient(1e-5)},
          {"Liger softmax gradient bf16", liger_gradient(5e-2)},
          {"vLLM merge_attn_states", vllm_merge(1e-3)},
          {"vLLM merge_attn_states bf16", vllm_merge(1e-2)},
          {"sglang topk_softmax", sglang_topk},
          {"vLLM fused_topk", vllm_topk},
          {"FlashInfer top_p_renorm_probs", flashinfer_top_p},
          {"vLLM topk_topp, top-p", vllm_top_p},
          {"entmax sparsemax", entmax_sparsemax},
          {"TensorFlow Addons sparsemax", tensorflow_sparsemax}};
}

}  // namespace softcheck::proptests
