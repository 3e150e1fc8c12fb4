#include <algorithm>
#include <cmath>
#include <limits>

#include "judge/survivors/published.hpp"
#include "judge/survivors/softmax_case.hpp"

namespace softcheck::proptests {
namespace {

using numerics::Format;
using Rule = Comparison::Rule;

struct Shape {
  std::int64_t rows;
  std::int64_t columns;
};

// torch.randn on eight shapes, torch.allclose with atol = rtol: 1e-5 in fp32, 5e-2 in bf16.
Criterion liger(const char* name, Format format, double tolerance, const char* tolerance_text) {
  return {.name = name,
          .source = "linkedin/Liger-Kernel test/transformers/test_softmax.py@1de3849",
          .format = format,
          .inputs = "normal, sd 1",
          .shapes = "2 x 8, 4 x 16, 1 x 1023, 21 x 256, 1 x 4096, 2 x 4096, 2 x 70000, 3 x 70000",
          .tolerance = tolerance_text,
          .deviation = "forward pass only",
          .cases = [=](Draw& draw) {
            std::vector<CriterionCase> cases;
            for (const Shape shape : {Shape{2, 8}, Shape{4, 16}, Shape{1, 1023}, Shape{21, 256}, Shape{1, 4096},
                                      Shape{2, 4096}, Shape{2, 70000}, Shape{3, 70000}}) {
              cases.push_back(softmax_case(
                  {.format = format, .rows = rows_taken(shape.rows, shape.columns), .columns = shape.columns},
                  [&](auto, auto) { return draw.normal(); }, {{Rule::allclose, tolerance, tolerance}}));
            }
            return cases;
          }};
}

// 0.1 torch.randn, rows 1, 37 and 199; assert_close with atol = rtol = 1e-4, row sums within 1e-4 + 1e-4, 0 <= p <= 1.
std::vector<CriterionCase> quack_lengths(Draw& draw, const std::vector<std::int64_t>& lengths) {
  std::vector<CriterionCase> cases;
  for (const std::int64_t columns : lengths) {
    for (const std::int64_t rows : {1, 37, 199}) {
      cases.push_back(softmax_case(
          {.rows = rows_taken(rows, columns), .columns = columns}, [&](auto, auto) { return 0.1 * draw.normal(); },
          {{Rule::allclose, 1e-4, 1e-4}, {Rule::row_sums, 1e-4, 1e-4}, {Rule::between_zero_and_one}}));
    }
  }
  return cases;
}

// test_softmax_extreme_values: all 10, all -10, and 10 before -10; test_softmax_numerical_stability: randn against
// randn + 100, 1e-6 + 1e-6 |p|.
void add_quack_special_cases(Draw& draw, std::vector<CriterionCase>& cases) {
  const LogitMatrix extreme{.rows = 16, .columns = 1024};
  for (const double value : {10.0, -10.0}) {
    cases.push_back(softmax_case(extreme, [=](auto, auto) { return value; }, {{Rule::allclose, 1e-3, 1e-3}}));
  }
  cases.push_back(softmax_case(extreme, [](auto, auto column) { return column == 0 ? 10.0 : -10.0; },
                               {{Rule::first_takes_all, 0.01}}));
  std::vector<double> row;
  for (int i = 0; i < 8 * 512; ++i) row.push_back(numerics::round_to(Format::f32, draw.normal()));
  const auto at = [&](std::int64_t r, std::int64_t c) { return row[static_cast<std::size_t>(r * 512 + c)]; };
  cases.push_back(softmax_case({.rows = 8, .columns = 512}, at, {}));
  cases.push_back(softmax_case({.rows = 8, .columns = 512}, [&](auto r, auto c) { return at(r, c) + 100; },
                               {{Rule::allclose, 1e-6, 1e-6}}));
  cases.back().same_as = cases.size() - 2;
}

Criterion quack(bool long_rows) {
  return {
      .name = long_rows ? "quack n >= 32768" : "quack n <= 16384",
      .source = "Dao-AILab/quack tests/test_softmax.py@bf56b1b",
      .inputs = long_rows ? "0.1 normal" : "0.1 normal; all +-10, 10 before -10; normal + 100 against normal",
      .shapes = long_rows ? "{1, 37, 199} x {32768 ... 262144}" : "{1, 37, 199} x {192 ... 16384}; 16 x 1024; 8 x 512",
      .tolerance = "1e-4 + 1e-4 |p|; row sums 2e-4; 0 <= p <= 1",
      .deviation = "one source, its lengths in two criteria; forward pass only",
      .cases = [=](Draw& draw) {
        if (long_rows) return quack_lengths(draw, {32768, 65536, 131072, 262144});
        std::vector<CriterionCase> cases =
            quack_lengths(draw, {192, 256, 512, 760, 1024, 1128, 2048, 4096, 8192, 16384});
        add_quack_special_cases(draw, cases);
        return cases;
      }};
}

// Half of the cases: a random number of random logits is -inf. A draw that masks a whole row is drawn again: the
// source's reference would be NaN there, which its comparison accepts of no kernel.
void mask_randomly(Draw& draw, std::vector<double>& logits, std::size_t columns) {
  const std::vector<double> unmasked = logits;
  for (;;) {
    std::uint64_t left = draw.below(logits.size() - 1);
    for (std::size_t i = 0; i < logits.size(); ++i) {
      const bool masked = draw.below(logits.size() - i) < left;
      left -= masked ? 1 : 0;
      logits[i] = masked ? -std::numeric_limits<double>::infinity() : unmasked[i];
    }
    bool visible = true;
    for (std::size_t row = 0; row < logits.size(); row += columns) {
      visible &= std::any_of(logits.begin() + static_cast<std::ptrdiff_t>(row),
                             logits.begin() + static_cast<std::ptrdiff_t>(row + columns),
                             [](double x) { return std::isfinite(x); });
    }
    if (visible) return;
  }
}

// torch.log(-torch.log(U + eps) + eps) / beta, as the source has it.
double gumbel(Draw& draw) { return std::log(-std::log(draw.unit() + 1e-20) + 1e-20) / 0.1; }

void add_flashinfer_cases(Draw& draw, Shape shape, std::vector<CriterionCase>& cases) {
  for (int distribution = 0; distribution < 3; ++distribution) {
    for (const double temperature : {1.0, 0.5, 0.1}) {
      for (const bool masked : {true, false}) {
        std::vector<double> logits;
        for (std::int64_t i = 0; i < shape.rows * shape.columns; ++i) {
          logits.push_back(distribution == 2 ? gumbel(draw) : draw.normal() * (distribution == 0 ? 1 : 5));
        }
        if (masked) mask_randomly(draw, logits, static_cast<std::size_t>(shape.columns));
        cases.push_back(
            softmax_case({.rows = shape.rows, .columns = shape.columns, .theta = temperature},
                         [&](auto r, auto c) { return logits[static_cast<std::size_t>(r * shape.columns + c)]; },
                         {{Rule::allclose, 1e-5, 1e-5}}));
      }
    }
  }
}

Criterion flashinfer() {
  return {.name = "FlashInfer",
          .source = "flashinfer-ai/flashinfer tests/utils/test_sampling.py@0522a32",
          .inputs = "normal sd 1, normal sd 5, Gumbel / 0.1; temperature 1, 0.5, 0.1; some -inf or none",
          .shapes = "{1, 99, 989} x {111, 32000, 128256}",
          .tolerance = "1e-5 + 1e-5 |p|",
          .deviation = "no draw masks a whole row",
          .cases = [](Draw& draw) {
            std::vector<CriterionCase> cases;
            for (const std::int64_t columns : {111, 32000, 128256}) {
              std::int64_t last = 0;
              for (const std::int64_t rows : {1, 99, 989}) {
                const Shape shape{rows_taken(rows, columns), columns};
                if (shape.rows != last) add_flashinfer_cases(draw, shape, cases);
                last = shape.rows;
              }
            }
            return cases;
          }};
}

// jax.random.normal, numpy.testing.assert_allclose: atol = 1e-7 and rtol = 1e-6 in f32.
Criterion jax_pallas() {
  return {.name = "JAX Pallas",
          .source = "jax-ml/jax tests/pallas/gpu_ops_test.py@0a68794",
          .inputs = "normal, sd 1",
          .shapes = "1024 x 125, 4096 x 125",
          .tolerance = "1e-7 + 1e-6 |p|",
          .cases = [](Draw& draw) {
            std::vector<CriterionCase> cases;
            for (const std::int64_t rows : {1024, 4096}) {
              cases.push_back(softmax_case({.rows = rows_taken(rows, 125), .columns = 125},
                                           [&](auto, auto) { return draw.normal(); }, {{Rule::allclose, 1e-7, 1e-6}}));
            }
            return cases;
          }};
}

// test_compare_cpu over the samples of softmax and log_softmax (S = 5, M = 10): make_tensor's range is [-9, 9],
// assertEqual has atol = rtol = 1e-3.
Criterion pytorch(const std::string& op, const char* name) {
  return {.name = name,
          .source =
              "pytorch/pytorch v2.8.0 test/test_ops.py (test_compare_cpu), "
              "torch/testing/_internal/opinfo/definitions/_masked.py (sample_inputs_softmax_variant)",
          .op = op,
          .inputs = "uniform in [-9, 9]",
          .shapes = "1 x 5, 5 x 5 three times, 50 x 5, 1 x 1",
          .tolerance = "1e-3 + 1e-3 |p|",
          .deviation = "the sample without elements is left out",
          .cases = [=](Draw& draw) {
            std::vector<CriterionCase> cases;
            for (const Shape shape : {Shape{1, 5}, Shape{5, 5}, Shape{5, 5}, Shape{5, 5}, Shape{50, 5}, Shape{1, 1}}) {
              cases.push_back(softmax_case({.op = op, .rows = shape.rows, .columns = shape.columns},
                                           [&](auto, auto) { return 18 * draw.unit() - 9; },
                                           {{Rule::allclose, 1e-3, 1e-3}}));
            }
            return cases;
          }};
}

// The same test over the samples of logsumexp: ranges [-9, 9], [1e3, 2e3], [1e6, 2e6].
Criterion pytorch_logsumexp() {
  return {.name = "PyTorch test_ops, logsumexp",
          .source =
              "pytorch/pytorch v2.8.0 test/test_ops.py (test_compare_cpu), "
              "torch/testing/_internal/common_methods_invocations.py (sample_inputs_logsumexp)",
          .op = "logsumexp",
          .inputs = "uniform in [-9, 9], [1e3, 2e3], [1e6, 2e6]",
          .shapes = "1 x 1, 5 x 5 three times, 1 x 25",
          .tolerance = "1e-3 + 1e-3 |value|",
          .deviation = "the reference inputs with infinities are left out",
          .cases = [](Draw& draw) {
            std::vector<CriterionCase> cases;
            for (const double low : {-9.0, 1e3, 1e6}) {
              const double width = low < 0 ? 18 : low;
              for (const Shape shape : {Shape{1, 1}, Shape{5, 5}, Shape{5, 5}, Shape{5, 5}, Shape{1, 25}}) {
                cases.push_back(softmax_case({.op = "logsumexp", .rows = shape.rows, .columns = shape.columns},
                                             [&](auto, auto) { return low + width * draw.unit(); },
                                             {{Rule::allclose, 1e-3, 1e-3}}));
              }
            }
            return cases;
          }};
}

}  // namespace

std::vector<Criterion> gpu_library_criteria() {
  return {liger("Liger Kernel bf16", Format::bf16, 5e-2, "5e-2 + 5e-2 |p|"),
          liger("Liger Kernel fp32", Format::f32, 1e-5, "1e-5 + 1e-5 |p|"),
          quack(true),
          quack(false),
          flashinfer(),
          jax_pallas(),
          pytorch("softmax", "PyTorch test_ops"),
          pytorch("log_softmax", "PyTorch test_ops, log"),
          pytorch_logsumexp()};
}

}  // namespace softcheck::proptests
