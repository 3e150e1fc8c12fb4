#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>
#include <limits>

#include "judge/survivors/published.hpp"
#include "judge/survivors/row_case.hpp"

namespace softcheck::proptests {
namespace {

using Rule = Comparison::Rule;

// Five trials per test of KernelBench: the rows of problem 23, atol = rtol from get_tolerance_for_precision.
CriterionCases kernelbench(double tolerance) {
  return matrices(std::vector(5, MatrixShape{4096, 393216}), uniform(0, 1), allclose(tolerance, tolerance));
}

// torch.randn on eight shapes, torch.allclose with atol = rtol: 1e-5 in fp32, 5e-2 in bf16.
CriterionCases liger(double tolerance) {
  return matrices({{2, 8}, {4, 16}, {1, 1023}, {21, 256}, {1, 4096}, {2, 4096}, {2, 70000}, {3, 70000}}, normal(),
                  allclose(tolerance, tolerance));
}

// 0.1 torch.randn, rows 1, 37 and 199; assert_close with atol = rtol = 1e-4, row sums within 1e-4 + 1e-4, 0 <= p <= 1.
CriterionCases quack_lengths(const std::vector<std::int64_t>& lengths) {
  std::vector<MatrixShape> shapes;
  for (const std::int64_t columns : lengths) {
    for (const std::int64_t rows : {1, 37, 199}) shapes.push_back({rows, columns});
  }
  return matrices(shapes, normal(0.1),
                  {{Rule::allclose, 1e-4, 1e-4}, {Rule::row_sums, 1e-4, 1e-4}, {Rule::between_zero_and_one}});
}

// test_softmax_extreme_values: all 10, all -10, and 10 followed by -10. test_softmax_numerical_stability: randn against
// randn + 100, 1e-6 + 1e-6 |p|.
std::vector<CriterionCase> quack_short_rows(Draw& draw, const Criterion& criterion) {
  std::vector<CriterionCase> cases =
      quack_lengths({192, 256, 512, 760, 1024, 1128, 2048, 4096, 8192, 16384})(draw, criterion);
  const LogitMatrix extreme{.rows = 16, .columns = 1024};
  for (const double value : {10.0, -10.0}) {
    cases.push_back(softmax_case(
        extreme, [=](auto, auto) { return value; }, allclose(1e-3, 1e-3)));
  }
  cases.push_back(softmax_case(extreme, [](auto, auto column) { return column == 0 ? 10.0 : -10.0; },
                               {{Rule::first_takes_all, 0.01}}));
  std::vector<double> row;
  for (int i = 0; i < 8 * 512; ++i) row.push_back(numerics::round_to(numerics::Format::f32, draw.normal()));
  const auto at = [&](std::int64_t r, std::int64_t c) { return row[static_cast<std::size_t>(r * 512 + c)]; };
  cases.push_back(softmax_case({.rows = 8, .columns = 512}, at, {}));
  cases.push_back(softmax_case(
      {.rows = 8, .columns = 512}, [&](auto r, auto c) { return at(r, c) + 100; }, allclose(1e-6, 1e-6)));
  cases.back().same_as = cases.size() - 2;
  return cases;
}

// In half of the cases a random number of random logits is -inf. A draw that masks a whole row is repeated: the
// source's reference would be NaN there, which its comparison never accepts.
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

// torch.log(-torch.log(U + eps) + eps) / beta, as in the source.
double gumbel(Draw& draw) { return std::log(-std::log(draw.unit() + 1e-20) + 1e-20) / 0.1; }

void add_flashinfer_cases(Draw& draw, MatrixShape shape, std::vector<CriterionCase>& cases) {
  for (const Value& value : {normal(), normal(5), Value(gumbel)}) {
    for (const double temperature : {1.0, 0.5, 0.1}) {
      for (const bool masked : {true, false}) {
        std::vector<double> logits;
        for (std::int64_t i = 0; i < shape.rows * shape.columns; ++i) logits.push_back(value(draw));
        if (masked) mask_randomly(draw, logits, static_cast<std::size_t>(shape.columns));
        cases.push_back(softmax_case(
            {.rows = shape.rows, .columns = shape.columns, .theta = temperature},
            [&](auto r, auto c) { return logits[static_cast<std::size_t>(r * shape.columns + c)]; },
            allclose(1e-5, 1e-5)));
      }
    }
  }
}

std::vector<CriterionCase> flashinfer(Draw& draw, const Criterion&) {
  std::vector<CriterionCase> cases;
  for (const std::int64_t columns : {111, 32000, 128256}) {
    std::int64_t last = 0;
    for (const std::int64_t rows : {1, 99, 989}) {
      const MatrixShape shape{rows_taken(rows, columns), columns};
      if (shape.rows != last) add_flashinfer_cases(draw, shape, cases);
      last = shape.rows;
    }
  }
  return cases;
}

// test_compare_cpu over the samples of softmax and log_softmax (S = 5, M = 10): make_tensor's range is [-9, 9],
// assertEqual has atol = rtol = 1e-3.
CriterionCases pytorch() {
  return matrices({{1, 5}, {5, 5}, {5, 5}, {5, 5}, {50, 5}, {1, 1}}, uniform(-9, 9), allclose(1e-3, 1e-3));
}

// The same test over the samples of logsumexp: ranges [-9, 9], [1e3, 2e3], [1e6, 2e6].
std::vector<CriterionCase> pytorch_logsumexp(Draw& draw, const Criterion& criterion) {
  std::vector<CriterionCase> cases;
  for (const Value& value : {uniform(-9, 9), uniform(1e3, 2e3), uniform(1e6, 2e6)}) {
    const CriterionCases range = matrices({{1, 1}, {5, 5}, {5, 5}, {5, 5}, {1, 25}}, value, allclose(1e-3, 1e-3));
    for (CriterionCase& one : range(draw, criterion)) cases.push_back(std::move(one));
  }
  return cases;
}

// TestF32: uniform in [90, 100), where an exponential overflows unless the maximum is subtracted; |error| <= 1e-5 p.
// The shapes and strides of softmax-nc.cc.
std::vector<CriterionCase> xnnpack_operator(Draw& draw, const Criterion&) {
  std::vector<CriterionCase> cases;
  const auto add = [&](std::int64_t rows, std::int64_t columns, int iterations, std::int64_t in = 0,
                       std::int64_t out = 0) {
    for (int i = 0; i < iterations; ++i) {
      cases.push_back(softmax_case(
          {.rows = rows, .columns = columns, .input_stride = in, .output_stride = out},
          [&](auto, auto) { return 90 + 10 * draw.unit(); }, allclose(0, 1e-5)));
    }
  };
  add(1, 1, 100);
  add(1, 2, 100);
  for (int columns = 3; columns < 100; ++columns) add(1, columns, 1);
  for (const int columns : {10, 100}) add(1, columns, 15);
  for (const int columns : {1000, 1001, 21841}) add(1, columns, 10);
  for (int columns = 1; columns < 100; columns += 5) {
    add(3, columns, 3);
    add(3, columns, 3, 129, 0);
    add(3, columns, 3, 0, 117);
    add(3, columns, 3, 129, 117);
  }
  return cases;
}

// Ranks 1 to 5, a hundred random shapes each, dimensions in [1, 9]; values in [-20, 20]; |error| <= 1e-4.
std::vector<CriterionCase> xnnpack_subgraph(Draw& draw, const Criterion& criterion) {
  std::vector<CriterionCase> cases;
  for (int reshape = 0; reshape < 500; ++reshape) {
    MatrixShape shape{1, 0};
    for (int dimension = 0; dimension < reshape / 100; ++dimension) shape.rows *= draw.between(1, 9);
    shape.columns = draw.between(1, 9);
    cases.push_back(matrices({shape}, uniform(-20, 20), allclose(1e-4, 0))(draw, criterion).front());
  }
  return cases;
}

// test_soft_max: uniform in [-1, 1], scale 1 and 0.1, normalized mean square error at most 1e-6.
std::vector<CriterionCase> ggml(Draw& draw, const Criterion&) {
  std::vector<CriterionCase> cases;
  const auto add = [&](std::int64_t rows, std::int64_t columns, double scale) {
    cases.push_back(softmax_case({.rows = rows_taken(rows, columns), .columns = columns, .theta = 1 / scale},
                                 [&](auto, auto) { return 2 * draw.unit() - 1; }, {{Rule::mean_square, 0, 1e-6}}));
  };
  for (const double scale : {1.0, 0.1}) {
    for (const int columns : {16, 1024}) {
      for (const int rows : {16, 1024}) {
        add(rows, columns, scale);
        add(rows - 1, columns - 1, scale);
      }
    }
  }
  add(64, 16, 0.1);
  return cases;
}

// fill_data_fwd: in each row one or two values of 90, two to five of 89, five to eight of 88 (after 64 outer rows
// alternately -86, -87, -88), from a random place on; all others are the lowest float.
struct BenchdnnShape {
  std::int64_t outer, axis, inner;
};

CriterionCase benchdnn_case(Draw& draw, const std::string& op, BenchdnnShape shape) {
  const std::int64_t rows = rows_taken(shape.outer * shape.inner, shape.axis);
  std::vector<double> row;
  const auto logit = [&](std::int64_t r, std::int64_t column) {
    if (column > 0) return row[static_cast<std::size_t>(column)];
    row.assign(static_cast<std::size_t>(shape.axis), -static_cast<double>(FLT_MAX));
    const double sign = r / shape.inner / 64 % 2 == 0 ? 1 : -1;
    std::vector<double> top;
    const std::array<int, 3> counts{draw.between(1, 2), draw.between(2, 5), draw.between(5, 8)};
    for (int i = 0; i < 3; ++i) top.insert(top.end(), static_cast<std::size_t>(counts[i]), 88 * sign + 2 - i);
    if (top.size() > row.size()) top.resize(row.size());
    const std::size_t first = draw.below(row.size() - top.size() + 1);
    std::copy(top.begin(), top.end(), row.begin() + static_cast<std::ptrdiff_t>(first));
    return row[0];
  };
  // 10 epsilon of f32; five times that for log_softmax.
  const double threshold = (op == "log_softmax" ? 50 : 10) * static_cast<double>(FLT_EPSILON);
  return softmax_case({.op = op, .rows = rows, .columns = shape.axis}, logit,
                      {{Rule::relative_or_epsilon, 0, threshold}});
}

CriterionCases benchdnn(std::vector<BenchdnnShape> shapes) {
  return [=](Draw& draw, const Criterion& criterion) {
    std::vector<CriterionCase> cases;
    for (const BenchdnnShape shape : shapes) cases.push_back(benchdnn_case(draw, criterion.op, shape));
    return cases;
  };
}

// shapes_ci with the softmax along axis 0 and axis 1: 16x16, 255x10, 2x19x17x13 and 1xCx2x12, C = 27, 16, 8, 5.
const std::vector<BenchdnnShape>& ci_shapes() {
  static const std::vector<BenchdnnShape> shapes{{1, 16, 16},  {16, 16, 1}, {1, 255, 10}, {255, 10, 1}, {1, 2, 4199},
                                                 {2, 19, 221}, {1, 1, 648}, {1, 27, 24},  {1, 1, 384},  {1, 16, 24},
                                                 {1, 1, 192},  {1, 8, 24},  {1, 1, 120},  {1, 5, 24}};
  return shapes;
}

// numpy.random.randn(16, 8, 32) along every set of axes, numpy.allclose with atol = 1e-6; rows of -inf with one 0; the
// sums of a sliced (8, 2).
std::vector<CriterionCase> mlx(Draw& draw, const Criterion&) {
  constexpr std::int64_t elements = 16 * 8 * 32;
  std::vector<CriterionCase> cases;
  for (const std::int64_t columns : {4096, 16, 8, 32, 128, 256, 512, 4096}) {
    cases.push_back(softmax_case(
        {.rows = elements / columns, .columns = columns}, [&](auto, auto) { return draw.normal(); },
        allclose(1e-6, 1e-5)));
  }
  for (const std::int64_t columns : {100, 2049, 4097, 8193}) {
    const auto one_peak = [=](auto, auto column) {
      return column == columns - 1 ? 0 : -std::numeric_limits<double>::infinity();
    };
    cases.push_back(softmax_case({.columns = columns}, one_peak, allclose(1e-9, 0)));
  }
  cases.push_back(softmax_case({.rows = 8, .columns = 2, .input_stride = 4}, [&](auto, auto) { return draw.unit(); },
                               {{Rule::total, 5e-6}}));
  return cases;
}

}  // namespace

std::vector<NamedCases> softmax_cases() {
  return {{"KernelBench fp16", kernelbench(1e-2)},
          {"KernelBench fp32", kernelbench(1e-4)},
          // The first form of KernelBench's task 23, check_forward_correctness.
          {"robust-kbench", matrices(std::vector(5, MatrixShape{16, 16384}), normal(), allclose(1e-5, 1e-5))},
          // B = 8, T = 1024; the same data for every block size.
          {"llm.c", matrices({{8192, 1024}}, uniform(-1, 1), allclose(1e-4, 0))},
          // torch.allclose with its defaults.
          {"Triton tutorial 02", matrices({{1823, 781}}, normal(), allclose(1e-8, 1e-5))},
          {"Liger Kernel bf16", liger(5e-2)},
          {"Liger Kernel fp32", liger(1e-5)},
          {"quack n >= 32768", quack_lengths({32768, 65536, 131072, 262144})},
          {"quack n <= 16384", quack_short_rows},
          {"FlashInfer", flashinfer},
          {"JAX Pallas", matrices({{1024, 125}, {4096, 125}}, normal(), allclose(1e-7, 1e-6))},
          {"PyTorch test_ops", pytorch()},
          {"PyTorch test_ops, log", pytorch()},
          {"PyTorch test_ops, logsumexp", pytorch_logsumexp},
          {"XNNPACK operator", xnnpack_operator},
          {"XNNPACK subgraph", xnnpack_subgraph},
          {"ggml test-backend-ops", ggml},
          {"oneDNN benchdnn, CI", benchdnn(ci_shapes())},
          // 8x3x8320, 4x3x5600, 1x1x4097, 2x3x9999, along the last axis.
          {"oneDNN benchdnn, large axis", benchdnn({{24, 8320, 1}, {12, 5600, 1}, {1, 4097, 1}, {6, 9999, 1}})},
          {"oneDNN benchdnn, log", benchdnn(ci_shapes())},
          {"MLX", mlx}};
}

}  // namespace softcheck::proptests
