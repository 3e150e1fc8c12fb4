// dx = y (g - sum y g), from the saved output y and the upstream gradient g (B12).
#include <array>
#include <cmath>

#include "numerics/rounding.hpp"
#include "numerics/softmax_gradient.hpp"
#include "numerics/special_values.hpp"
#include "numerics/upper_bound.hpp"
#include "proptests/judge/ops/gradient_inputs.hpp"
#include "proptests/judge/ops/row_elements.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

constexpr std::string_view claim_on_elements = "kernel.softmax_backward.element";

class SoftmaxBackwardElements : public RowElements {
 public:
  explicit SoftmaxBackwardElements(const RowInputs& row)
      : y_(row.logits),
        g_(row.beside[0]),
        oracle_(y_, g_),
        near_(approximate_softmax_gradient(y_, g_)),
        threshold_(row.contract, oracle_.row<UpperBound>()),
        oracles_([this] { return SoftmaxGradientOracle(y_, g_); }) {
    promised = std::isfinite(upper(element(0).total()));
  }

  std::string_view claim() const override { return claim_on_elements; }
  Enclosure value(std::size_t i) override {
    return working_precision() <= 113 ? oracle_.gradient(i) : oracles_.now().gradient(i);
  }
  Quick quick(std::size_t i) override { return {near_[i].value, near_[i].error}; }
  double threshold(std::size_t i) override { return upper(element(i).total()); }
  double metric(std::size_t i, double) override { return upper(threshold_.metric(coefficient(i), upstream(i))); }
  bool is_vacuous(std::size_t i, double metric) override {
    return numerics::is_vacuous(upper(element(i).rounding), metric);
  }

 private:
  UpperBound coefficient(std::size_t i) const { return UpperBound(std::fabs(y_[i])); }
  UpperBound upstream(std::size_t i) const { return UpperBound(std::fabs(g_[i])); }
  ScalarThreshold<UpperBound> element(std::size_t i) const {
    const UpperBound gradient = UpperBound(std::fabs(near_[i].value)) + UpperBound(near_[i].error);
    return threshold_.element(coefficient(i), upstream(i), gradient);
  }

  std::span<const double> y_, g_;
  SoftmaxGradientOracle oracle_;
  std::vector<Approximation> near_;
  SoftmaxGradientThreshold<UpperBound> threshold_;
  OracleLadder<SoftmaxGradientOracle> oracles_;
};

class SoftmaxBackward final : public RowOp {
  static constexpr std::array roles{OpInput{Role::saved}, OpInput{Role::out_gradient}};
  static constexpr std::array<std::string_view, 1> outputs{"output"}, claims{claim_on_elements}, words{"products"};

 public:
  constexpr SoftmaxBackward()
      : RowOp({.name = "softmax_backward",
               .inputs = roles,
               .outputs = outputs,
               .claims = claims,
               .has_theta = false,
               .takes_mask = false,
               .takes_infinities = false,
               .number = SOFTCHECK_OP_SOFTMAX_BACKWARD,
               .answers = {.words = words, .dear = true, .masked_rows = false}}) {}

  std::vector<std::vector<double>> input_values(Format format, std::span<const double> logits,
                                                std::uint64_t beside) const override {
    return {saved_softmax(format, logits, beside), upstream_gradient(format, logits.size(), beside)};
  }
  std::unique_ptr<RowElements> elements(const RowInputs& row) const override {
    return std::make_unique<SoftmaxBackwardElements>(row);
  }
};

constinit const SoftmaxBackward softmax_backward_op;

}  // namespace

constinit const Op Op::softmax_backward = softmax_backward_op;

}  // namespace softcheck::proptests
