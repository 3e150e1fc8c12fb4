#include <cmath>

#include "judge/survivors/filter_case.hpp"
#include "judge/survivors/published.hpp"
#include "judge/survivors/softmax_case.hpp"

namespace softcheck::proptests {
namespace {

using Rule = Comparison::Rule;

// test_top_p_renorm_probs: uniform numbers over their sum are the probabilities; assert_close with 1e-3.
Criterion flashinfer_top_p() {
  return {.name = "FlashInfer top_p_renorm_probs",
          .source = "flashinfer-ai/flashinfer tests/utils/test_sampling.py@0522a32",
          .op = "top_p_softmax",
          .inputs = "probabilities uniform in [0, 1), over their sum; p of 0.1, 0.5, 0.9, 1",
          .shapes = "{1, 99, 989} x {111, 32000, 128256}",
          .tolerance = "1e-3 + 1e-3 |got|",
          .deviation = "of logits, the logarithms of its numbers, where the source's kernel is given probabilities",
          .cases = [](Draw& draw) {
            std::vector<CriterionCase> cases;
            for (const std::int64_t rows : {1, 99, 989}) {
              for (const std::int64_t columns : {111, 32000, 128256}) {
                for (const double p : {0.1, 0.5, 0.9, 1.0}) {
                  cases.push_back(top_p_case({.rows = rows_taken(rows, columns), .columns = columns, .top_p = p},
                                             [&] { return std::log(1 - draw.unit()); },
                                             {{Rule::allclose_of_got, 1e-3, 1e-3}}));
                }
              }
            }
            return cases;
          }};
}

// test_topp_only: numbers of kept items differ by at most 3, or by less than half a percent of the most in a row. A
// quarter of the rows has p = 1, the others' is uniform in [0.1, 1).
Criterion vllm_top_p() {
  return {.name = "vLLM topk_topp, top-p",
          .source = "vllm-project/vllm tests/v1/sample/test_topk_topp_sampler.py@01fa3fe (test_topp_only)",
          .op = "top_p_softmax",
          .inputs = "normal, sd 1; p uniform in [0.1, 1), in a quarter 1",
          .shapes = "{1, 8, 32, 128, 512, 1024} x {1024, 32000, 128256}",
          .tolerance = "as many kept items, to within 3, or 0.5 % of the most",
          .deviation = "all rows of a call have one p; kept is what is not 0, where the source masks logits",
          .cases = [](Draw& draw) {
            std::vector<CriterionCase> cases;
            for (const std::int64_t rows : {1, 8, 32, 128, 512, 1024}) {
              for (const std::int64_t columns : {1024, 32000, 128256}) {
                const double p = draw.one_in(4) ? 1 : 0.1 + 0.9 * draw.unit();
                cases.push_back(top_p_case({.rows = rows_taken(rows, columns), .columns = columns, .top_p = p},
                                           [&] { return draw.normal(); }, {{Rule::saved_counts, 3, 5e-3}}));
              }
            }
            return cases;
          }};
}

// test_sparsemax: half of torch.randn, ten times; the squared distance from a bisection is below 1e-7.
Criterion entmax_sparsemax() {
  return {.name = "entmax sparsemax",
          .source = "deep-spin/entmax entmax/test_root_finding.py@69131be",
          .op = "sparsemax",
          .inputs = "normal, sd 0.5",
          .shapes = "10 x 30000, 10 trials",
          .tolerance = "squares of all errors add up to 1e-7",
          .deviation = "all ten rows",
          .cases = [](Draw& draw) {
            std::vector<CriterionCase> cases;
            for (int trial = 0; trial < 10; ++trial) {
              cases.push_back(sparsemax_case({.rows = 10, .columns = 30000}, [&] { return 0.5 * draw.normal(); },
                                             {{Rule::square_sum, 1e-7, 0}}));
            }
            return cases;
          }};
}

// sparsemax_test.py: uniform logits along three axes, equal ones, and rows (t, 0); assert_allclose_according_to_type.
Criterion tensorflow_sparsemax() {
  return {.name = "TensorFlow Addons sparsemax",
          .source = "tensorflow/addons tensorflow_addons/activations/tests/sparsemax_test.py@0bbd07a",
          .op = "sparsemax",
          .inputs = "uniform in [-3, 3); zeros; (t, 0) for t from -2 to 2",
          .shapes = "17 x 10, 1 x 10, 289 x 10, 17 x 2",
          .tolerance = "1e-6 + 1e-6 |p|",
          .deviation = "without its rows of NaN and of infinities, properties and gradients",
          .cases = [](Draw& draw) {
            const std::vector<Comparison> rule{{Rule::allclose, 1e-6, 1e-6}};
            const auto uniform = [&] { return 6 * draw.unit() - 3; };
            std::vector<CriterionCase> cases;
            for (const std::int64_t rows : {17, 1, 17 * 17}) {
              cases.push_back(sparsemax_case({.rows = rows, .columns = 10}, uniform, rule));
            }
            cases.push_back(sparsemax_case(
                {.rows = 1, .columns = 10}, [] { return 0.0; }, rule));
            int place = 0;
            const auto pair = [&] {
              const int k = place++, row = k / 2;
              return k % 2 == 0 ? -2 + 4.0 * row / 16 : 0.0;
            };
            cases.push_back(sparsemax_case({.rows = 17, .columns = 2}, pair, rule));
            return cases;
          }};
}

}  // namespace

std::vector<Criterion> filter_criteria() {
  return {flashinfer_top_p(), vllm_top_p(), entmax_sparsemax(), tensorflow_sparsemax()};
}

}  // namespace softcheck::proptests
