#include <array>
#include <cfloat>
#include <cmath>
#include <limits>

#include "judge/survivors/published.hpp"
#include "judge/survivors/softmax_case.hpp"

namespace softcheck::proptests {
namespace {

using numerics::Format;
using Rule = Comparison::Rule;

// TestF32: uniform in [90, 100), where an exponential overflows without the maximum, and |error| <= 1e-5 p. The shapes
// and strides of softmax-nc.cc.
std::vector<CriterionCase> xnnpack_operator_cases(Draw& draw) {
  std::vector<CriterionCase> cases;
  const auto add = [&](std::int64_t rows, std::int64_t columns, int iterations, std::int64_t in = 0,
                       std::int64_t out = 0) {
    for (int i = 0; i < iterations; ++i) {
      cases.push_back(softmax_case({.rows = rows, .columns = columns, .input_stride = in, .output_stride = out},
                                   [&](auto, auto) { return 90 + 10 * draw.unit(); }, {{Rule::allclose, 0, 1e-5}}));
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

Criterion xnnpack_operator() {
  return {.name = "XNNPACK operator",
          .source = "google/XNNPACK test/softmax-operator-tester.h@052baed, test/softmax-nc.cc@08b7a97",
          .inputs = "uniform in [90, 100)",
          .shapes = "1 x {1 ... 100, 1000, 1001, 21841}, 3 x {1, 6 ... 96} with row strides 129 and 117",
          .tolerance = "1e-5 |p|",
          .cases = xnnpack_operator_cases};
}

// Ranks 1 to 5, a hundred random shapes each, dimensions in [1, 9]; values in [-20, 20]; |error| <= 1e-4.
std::vector<CriterionCase> xnnpack_subgraph_cases(Draw& draw) {
  std::vector<CriterionCase> cases;
  for (int rank = 1; rank <= 5; ++rank) {
    for (int reshape = 0; reshape < 100; ++reshape) {
      std::int64_t rows = 1;
      for (int dimension = 1; dimension < rank; ++dimension) rows *= draw.between(1, 9);
      const int columns = draw.between(1, 9);
      cases.push_back(softmax_case({.rows = rows_taken(rows, columns), .columns = columns},
                                   [&](auto, auto) { return 40 * draw.unit() - 20; }, {{Rule::allclose, 1e-4, 0}}));
    }
  }
  return cases;
}

Criterion xnnpack_subgraph() {
  return {.name = "XNNPACK subgraph",
          .source = "google/XNNPACK test/subgraph/softmax.cc@169fed8",
          .inputs = "uniform in [-20, 20]",
          .shapes = "500 random ones, ranks 1 to 5, each dimension 1 to 9",
          .tolerance = "1e-4",
          .cases = xnnpack_subgraph_cases};
}

// test_soft_max: uniform in [-1, 1], scale 1 and 0.1, normalized mean square error at most 1e-6.
std::vector<CriterionCase> ggml_cases(Draw& draw) {
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

Criterion ggml() {
  return {.name = "ggml test-backend-ops",
          .source = "ggerganov/llama.cpp tests/test-backend-ops.cpp@0012f2c",
          .inputs = "uniform in [-1, 1]; scale 1 and 0.1",
          .shapes = "{15, 16, 1023, 1024} x {15, 16, 1023, 1024}, 64 x 16",
          .tolerance = "mean square error 1e-6 of the mean square",
          .deviation = "cases with an additive mask are left out: the ABI has none",
          .cases = ggml_cases};
}

// fill_data_fwd: in each row one or two values of 90, two to five of 89, five to eight of 88 (signs in turn after 64
// outer rows: -86, -87, -88), from a random place on; all others are the lowest float.
struct BenchdnnShape {
  std::int64_t outer, axis, inner;
};

void add_benchdnn_case(Draw& draw, const std::string& op, BenchdnnShape shape, std::vector<CriterionCase>& cases) {
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
  // 10 epsilon of f32; five times that for the logarithm.
  const double threshold = (op == "log_softmax" ? 50 : 10) * static_cast<double>(FLT_EPSILON);
  cases.push_back(softmax_case({.op = op, .rows = rows, .columns = shape.axis}, logit,
                               {{Rule::relative_or_epsilon, 0, threshold}}));
}

// shapes_ci with the softmax along axis 0 and along axis 1: 16x16, 255x10, 2x19x17x13 and 1xCx2x12, C = 27, 16, 8, 5.
constexpr BenchdnnShape ci_shapes[] = {{1, 16, 16},  {16, 16, 1}, {1, 255, 10}, {255, 10, 1}, {1, 2, 4199},
                                       {2, 19, 221}, {1, 1, 648}, {1, 27, 24},  {1, 1, 384},  {1, 16, 24},
                                       {1, 1, 192},  {1, 8, 24},  {1, 1, 120},  {1, 5, 24}};
// shapes_large_axis: 8x3x8320, 4x3x5600, 1x1x4097, 2x3x9999, along the last axis.
constexpr BenchdnnShape large_axes[] = {{24, 8320, 1}, {12, 5600, 1}, {1, 4097, 1}, {6, 9999, 1}};

template <std::size_t Count>
Criterion benchdnn(const char* name, const std::string& op, const char* shapes_file, const char* shapes_text,
                   const BenchdnnShape (&shapes)[Count]) {
  return {.name = name,
          .source = std::string("uxlfoundation/oneDNN tests/benchdnn/softmax/softmax.cpp@0a89c36; oneapi-src/oneDNN "
                                "tests/benchdnn/utils/compare.cpp@025f33e, tests/benchdnn/inputs/softmax/") +
                    shapes_file,
          .op = op,
          .inputs = "in a row 1-2, 2-5 and 5-8 values of 90, 89, 88 (or -86, -87, -88), all others -3.4e38",
          .shapes = shapes_text,
          .tolerance = op == "log_softmax" ? "6.0e-6 |p|" : "1.2e-6 |p|, or 1.2e-7",
          .deviation = "a mistrusted result (too many zeros) is an accepted one",
          .cases = [op, &shapes](Draw& draw) {
            std::vector<CriterionCase> cases;
            for (const BenchdnnShape& shape : shapes) add_benchdnn_case(draw, op, shape, cases);
            return cases;
          }};
}

// numpy.random.randn(16, 8, 32) along every set of axes, numpy.allclose with atol = 1e-6; rows of -inf with one 0; the
// sums of a sliced (8, 2).
std::vector<CriterionCase> mlx_cases(Draw& draw) {
  constexpr std::int64_t elements = 16 * 8 * 32;
  std::vector<CriterionCase> cases;
  for (const std::int64_t columns : {4096, 16, 8, 32, 128, 256, 512, 4096}) {
    cases.push_back(softmax_case({.rows = elements / columns, .columns = columns},
                                 [&](auto, auto) { return draw.normal(); }, {{Rule::allclose, 1e-6, 1e-5}}));
  }
  for (const std::int64_t columns : {100, 2049, 4097, 8193}) {
    const auto one_peak = [=](auto, auto column) {
      return column == columns - 1 ? 0 : -std::numeric_limits<double>::infinity();
    };
    cases.push_back(softmax_case({.columns = columns}, one_peak, {{Rule::allclose, 1e-9, 0}}));
  }
  cases.push_back(softmax_case({.rows = 8, .columns = 2, .input_stride = 4}, [&](auto, auto) { return draw.unit(); },
                               {{Rule::total, 5e-6}}));
  return cases;
}

Criterion mlx() {
  return {.name = "MLX",
          .source = "ml-explore/mlx python/tests/test_ops.py@fc96f02 (test_softmax)",
          .inputs = "normal, sd 1; -inf but for one 0; uniform in [0, 1)",
          .shapes = "4096 elements in rows of 8 ... 4096; 1 x {100, 2049, 4097, 8193}; 8 x 2 with row stride 4",
          .tolerance = "1e-6 + 1e-5 |p|; 1e-9; sum of all 5e-6",
          .deviation = "float32 only",
          .cases = mlx_cases};
}

}  // namespace

std::vector<Criterion> cpu_library_criteria() {
  constexpr const char* ci_text = "axes 0 and 1 of 16x16, 255x10, 2x19x17x13, 1x{27, 16, 8, 5}x2x12";
  return {xnnpack_operator(),
          xnnpack_subgraph(),
          ggml(),
          benchdnn("oneDNN benchdnn, CI", "softmax", "shapes_ci@2e876f0", ci_text, ci_shapes),
          benchdnn("oneDNN benchdnn, large axis", "softmax", "shapes_large_axis@9aa49bc",
                   "24 x 8320, 12 x 5600, 1 x 4097, 6 x 9999", large_axes),
          benchdnn("oneDNN benchdnn, log", "log_softmax", "shapes_ci@2e876f0", ci_text, ci_shapes),
          mlx()};
}

}  // namespace softcheck::proptests
