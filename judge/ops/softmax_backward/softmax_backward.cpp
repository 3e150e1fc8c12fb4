// dx = y (g - sum y g), from the saved output y and the upstream gradient g (B12).
#include <array>
#include <cmath>

#include "judge/ops/rows/gradient_inputs.hpp"
#include "judge/ops/rows/row_elements.hpp"
#include "numerics/enclosures/upper_bound.hpp"
#include "numerics/formats/special_values.hpp"
#include "numerics/oracles/softmax_gradient.hpp"
#include "numerics/rounding/rounding.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

// The statistics of y g that the bound needs.
SoftmaxGradientRow<UpperBound> bounded_row(std::span<const double> y, std::span<const double> g, const LongSum& mean) {
  SoftmaxGradientRow<UpperBound> row;
  row.size = y.size();
  for (std::size_t i = 0; i < y.size(); ++i) row.terms += y[i] != 0 && g[i] != 0 ? 1 : 0;
  row.product_magnitude = mean.magnitude;
  row.mean_magnitude = mean.size();
  row.largest_coefficient = UpperBound(largest_magnitude_of(y));
  row.largest_upstream = UpperBound(largest_magnitude_of(g));
  return row;
}

class SoftmaxBackwardElements : public RowElements {
 public:
  explicit SoftmaxBackwardElements(const RowInputs& row)
      : y_(row.logits),
        g_(row.auxiliary[0]),
        mean_(long_sum(y_, g_)),
        threshold_(row.contract, bounded_row(y_, g_, mean_)),
        oracles_([this] { return SoftmaxGradientOracle(y_, g_); }) {}

  std::string_view claim() const override { return "kernel.softmax_backward.element"; }
  Enclosure value(std::size_t i) override { return oracles_.now().gradient(i); }
  Quick quick(std::size_t i) override {
    const long double size = std::fabs(y_[i]);
    if (size == 0) return {0, 0};  // even if the mean's error is infinite
    // Errors: the difference and the product 2^-64 each, the mean's own, and the smallest doubles.
    const long double roundings = 0x1p-62L * size * (std::fabs(g_[i]) + std::fabs(mean_.value));
    return {y_[i] * (g_[i] - mean_.value), roundings + 2 * size * mean_.error() + 0x1p-1070L};
  }
  double threshold(std::size_t i) override { return upper(element(i).total()); }
  bool repeats(std::size_t i) const override { return y_[i] == y_[i - 1] && g_[i] == g_[i - 1]; }
  double metric(std::size_t i, double) override { return upper(threshold_.metric(coefficient(i), upstream(i))); }
  bool is_vacuous(std::size_t i, double metric) override {
    return numerics::is_vacuous(upper(element(i).rounding), metric);
  }

 private:
  UpperBound coefficient(std::size_t i) const { return UpperBound(std::fabs(y_[i])); }
  UpperBound upstream(std::size_t i) const { return UpperBound(std::fabs(g_[i])); }
  const ScalarThreshold<UpperBound>& element(std::size_t i) {
    return last_.of(
        i, [this](std::size_t j) { return threshold_.element(coefficient(j), upstream(j), size_of(quick(j))); });
  }

  std::span<const double> y_, g_;
  LongSum mean_;
  SoftmaxGradientThreshold<UpperBound> threshold_;
  LastItem<ScalarThreshold<UpperBound>> last_;
  OracleLadder<SoftmaxGradientOracle> oracles_;
};

class SoftmaxBackward final : public RowOp {
  static constexpr std::array roles{OpInput{Role::saved}, OpInput{Role::out_gradient}};
  static constexpr std::array<std::string_view, 1> outputs{"output"}, claims{"kernel.softmax_backward.element"};
  static constexpr std::array<std::string_view, 2> words{"products", "gradient"};

 public:
  constexpr SoftmaxBackward()
      : RowOp({.name = "softmax_backward",
               .inputs = roles,
               .outputs = outputs,
               .claims = claims,
               .has_theta = false,
               .takes_mask = false,
               .takes_infinities = false,
               .may_be_in_place = true,
               .number = SOFTCHECK_OP_SOFTMAX_BACKWARD,
               .answers = {.words = words,
                           .auxiliary_of_sums = alike_upstream,
                           .exponentials = false,
                           .expensive = true,
                           .masked_rows = false}}) {}

  std::vector<std::vector<double>> input_values(Format format, std::span<const double> logits,
                                                std::uint64_t auxiliary) const override {
    return {saved_softmax(format, logits, auxiliary), upstream_gradient(format, logits.size(), auxiliary)};
  }
  std::unique_ptr<RowElements> elements(const RowInputs& row) const override {
    return std::make_unique<SoftmaxBackwardElements>(row);
  }
};

constinit const SoftmaxBackward softmax_backward_op;

}  // namespace

constinit const Op Op::softmax_backward = softmax_backward_op;

}  // namespace softcheck::proptests
