#include <array>
#include <cmath>
#include <span>

#include "judge/ops/rows/judged_row.hpp"
#include "judge/ops/rows/row_elements.hpp"
#include "judge/ops/rows/sharpened_row.hpp"
#include "numerics/formats/special_values.hpp"
#include "numerics/oracles/adaptive_oracle.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

class AdaptiveSoftmaxElements : public RowElements {
 public:
  explicit AdaptiveSoftmaxElements(const RowInputs& row)
      : logits_(row.logits),
        contract_(row.contract),
        definition_(row.contract.entropy == EntropyForm::paper ? EntropyDefinition::paper : EntropyDefinition::exact),
        plain_cascade_(row.logits, 1),
        plain_(statistics_of(plain_cascade_.statistics(), row.contract, row.logits, 1)),
        sharp_(plain_cascade_, row.logits, definition_, sums_for(row.contract.output)),
        narrow_(properties(row.contract.output).precision <= 24),
        oracles_([logits = row.logits, definition = definition_] { return AdaptiveRowOracle(logits, definition); }) {
    const Statistics scaled = sharp_.statistics(row.contract, plain_.rescalings);
    threshold_ = adaptive_temperature_error(row.contract, plain_, scaled);
    bare_ = adaptive_temperature_error(row.contract, plain_, scaled, Grants::none);
    promised = std::isfinite(upper(threshold_.at(UpperBound(0), UpperBound(1))));
  }

  std::string_view claim() const override { return "kernel.adaptive_softmax.element"; }
  Quick quick(std::size_t i) override {
    const SharpenedRow::Near near = sharp_.near(i);
    if (narrow_) return {near.value, near.error};
    const long double finer = sharp_.finer(i);
    return {finer, near.error + std::fabs(finer - static_cast<long double>(near.value))};
  }
  Enclosure value(std::size_t i) override {
    return working_precision() <= 113 ? sharp_.softmax(i) : oracles_.now().softmax(i);
  }
  double threshold(std::size_t i) override {
    return upper(threshold_.at(sharp_.deviation_ceiling(i), sharp_.coefficient_ceiling(i)));
  }
  bool repeats(std::size_t i) const override { return logits_[i] == logits_[i - 1]; }
  bool is_vacuous(std::size_t i, double) override { return !(upper(bare_.relative(sharp_.deviation_ceiling(i))) < 1); }
  bool are_coefficients() const override { return true; }
  double excess(std::size_t i) override {
    return std::fmin(upper(threshold_.at(sharp_.deviation_ceiling(i), UpperBound(1))),
                     coefficient_overshoot(contract_, plain_, 0));
  }

 private:
  const std::span<const double> logits_;
  const Contract& contract_;
  const EntropyDefinition definition_;
  RowCascade plain_cascade_;
  const Statistics plain_;
  SharpenedRow sharp_;
  const bool narrow_;
  ElementThreshold<UpperBound> threshold_, bare_;
  OracleLadder<AdaptiveRowOracle> oracles_;
};

class AdaptiveSoftmax final : public RowOp {
  static constexpr std::array inputs{OpInput{Role::logits}};
  static constexpr std::array<std::string_view, 1> outputs{"output"}, claims{"kernel.adaptive_softmax.element"};

 public:
  constexpr AdaptiveSoftmax()
      : RowOp({.name = "adaptive_softmax",
               .inputs = inputs,
               .outputs = outputs,
               .claims = claims,
               .has_theta = false,
               .adaptive = true,
               .may_be_in_place = true,
               .answers = {.coefficients = true, .expensive = true}}) {}

  std::unique_ptr<RowElements> elements(const RowInputs& row) const override {
    return std::make_unique<AdaptiveSoftmaxElements>(row);
  }
};

constinit const AdaptiveSoftmax adaptive_softmax_op;

}  // namespace

constinit const Op Op::adaptive_softmax = adaptive_softmax_op;

}  // namespace softcheck::proptests
