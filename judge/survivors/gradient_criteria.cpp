#include <utility>

#include "judge/survivors/published.hpp"
#include "judge/survivors/softmax_case.hpp"
#include "numerics/filter/row_filter.hpp"

namespace softcheck::proptests {
namespace {

using numerics::Format;
using Rule = Comparison::Rule;

struct GradientShape {
  std::int64_t rows;
  std::int64_t columns;
};

InputTensor elements(Format format, GradientShape shape) {
  InputTensor tensor;
  tensor.place.format = format;
  tensor.place.shape = {shape.rows, shape.columns};
  tensor.place.against_the_end = false;
  return tensor;
}

// The saved output y = softmax(x) of normal x, rounded, and y (g - sum y g) of normal g.
CriterionCase softmax_gradient_case(Draw& draw, Format format, GradientShape shape, const Comparison& comparison) {
  InputTensor saved = elements(format, shape), upstream = elements(format, shape);
  CriterionCase result;
  for (std::int64_t row = 0; row < shape.rows; ++row) {
    std::vector<double> logits, g;
    for (std::int64_t i = 0; i < shape.columns; ++i) logits.push_back(numerics::round_to(format, draw.normal()));
    for (std::int64_t i = 0; i < shape.columns; ++i) g.push_back(numerics::round_to(format, draw.normal()));
    std::vector<double> y;
    for (const auto& [lower, upper] : numerics::filter_softmax(logits, numerics::filter_row(logits))) {
      y.push_back(numerics::round_to(format, lower + (upper - lower) / 2));
    }
    long double mean = 0;
    for (std::size_t i = 0; i < y.size(); ++i) mean += static_cast<long double>(y[i]) * g[i];
    for (std::size_t i = 0; i < y.size(); ++i) {
      result.expected.push_back(numerics::round_to(format, static_cast<double>(y[i] * (g[i] - mean))));
    }
    saved.values.insert(saved.values.end(), y.begin(), y.end());
    upstream.values.insert(upstream.values.end(), g.begin(), g.end());
  }
  result.call.op = SOFTCHECK_OP_SOFTMAX_BACKWARD;
  result.call.roles = {Role::saved, Role::out_gradient};
  result.call.outputs.push_back({saved.place, {}});
  result.call.inputs = {std::move(saved), std::move(upstream)};
  result.row_length = static_cast<std::size_t>(shape.columns);
  result.comparisons = {comparison};
  return result;
}

// The second half of test_liger_softmax: grad_output is torch.randn, compared with atol = rtol.
Criterion liger_softmax_gradient(const char* name, Format format, double tolerance, const char* tolerance_text) {
  return {
      .name = name,
      .source = "linkedin/Liger-Kernel test/transformers/test_softmax.py@1de3849",
      .op = "softmax_backward",
      .format = format,
      .inputs = "logits and upstream gradients normal, sd 1",
      .shapes = "2 x 8, 4 x 16, 1 x 1023, 21 x 256, 1 x 4096, 2 x 4096, 2 x 70000, 3 x 70000",
      .tolerance = tolerance_text,
      .deviation = "from the exact coefficients, rounded, where the source saves those of its own forward pass",
      .cases = [=](Draw& draw) {
        std::vector<CriterionCase> cases;
        for (const GradientShape shape :
             {GradientShape{2, 8}, GradientShape{4, 16}, GradientShape{1, 1023}, GradientShape{21, 256},
              GradientShape{1, 4096}, GradientShape{2, 4096}, GradientShape{2, 70000}, GradientShape{3, 70000}}) {
          cases.push_back(softmax_gradient_case(draw, format, {rows_taken(shape.rows, shape.columns), shape.columns},
                                                {Rule::allclose_of_got, tolerance, tolerance}));
        }
        return cases;
      }};
}

}  // namespace

std::vector<Criterion> gradient_criteria() {
  return {liger_softmax_gradient("Liger softmax gradient fp32", Format::f32, 1e-5, "1e-5 + 1e-5 |got|"),
          liger_softmax_gradient("Liger softmax gradient bf16", Format::bf16, 5e-2, "5e-2 + 5e-2 |got|")};
}

}  // namespace softcheck::proptests
