// loss = sum q (L - x) + z L^2 of targets q, and its gradient by the logits: B14 and B15 with s = 1 and the targets as
// class weights, whose mean is a sum.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "judge/ops/cross_entropy/loss_elements.hpp"
#include "judge/ops/cross_entropy/loss_inputs.hpp"
#include "judge/ops/rows/gradient_inputs.hpp"
#include "numerics/formats/format.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

// The kinds of targets: a label; a smoothed label; two classes; probabilities of many classes, which add up to about 1,
// to another number, or are mostly 0; all 0. A hidden class has 0, or, where only a loss is asked for, sometimes more.
std::vector<double> drawn_targets(Format format, std::span<const double> logits, std::uint64_t auxiliary,
                                  const HiddenClasses& hidden, bool may_be_infinite) {
  const std::size_t classes = logits.size();
  std::vector<double> targets(classes);
  if (classes == 0) return targets;
  const std::uint64_t seed = auxiliary / 64;
  const auto label = static_cast<std::size_t>(hashed(seed, 1) % classes);
  const auto first = static_cast<std::size_t>(std::ranges::max_element(logits) - logits.begin());
  const double share = 1 / static_cast<double>(classes);
  for (std::size_t j = 0; j < classes; ++j) {
    const double unit = std::fabs(signed_unit(hashed(seed + 2, j))), one = j == label ? 1 : 0;
    switch (seed % 8) {
      case 0:
        targets[j] = one;
        break;
      case 1:
        targets[j] = 0.875 * one + 0.125 * share;
        break;
      case 2:
        targets[j] = 0.75 * one + (j == first ? 0.25 : 0);
        break;
      case 3:
        targets[j] = 4 * share * unit;  // adds up to about 2
        break;
      case 4:
        targets[j] = unit < 0.125 ? 0.5 * unit : 0;
        break;
      case 5:
        targets[j] = 0;
        break;
      default:
        targets[j] = 2 * share * unit;
    }
    targets[j] = hidden(j) && !(may_be_infinite && hidden.may_hide_label()) ? 0 : round_to(format, targets[j]);
  }
  return targets;
}

constexpr OpInput targets_input{Role::targets};

// A loss of targets has the softcap and the z-loss of the other losses.
class SoftLossOp : public LossOp {
 public:
  Attributes attributes(std::uint64_t auxiliary, std::size_t n) const override {
    const Attributes drawn = drawn_loss_attributes(auxiliary, n);
    return {.z_loss = drawn.z_loss, .softcap = drawn.softcap};
  }
  bool ignores(const RowInputs& row) const override { return row.logits.empty(); }
  std::uint64_t closed_auxiliaries(const Domain& domain) const override {
    return LossOp::closed_auxiliaries(domain) | smoothing_bit | first_ignored_bit | class_weights_bit;
  }

 protected:
  using LossOp::LossOp;
  ~SoftLossOp() = default;
  double weight_of_term(const RowInputs& row, std::size_t j) const override { return row.auxiliary[0][j]; }
};

class SoftCrossEntropy final : public SoftLossOp {
  static constexpr std::array inputs{OpInput{Role::logits}, targets_input};
  static constexpr std::array<std::string_view, 1> outputs{"loss"}, claims{"kernel.soft_cross_entropy.loss"};

 public:
  constexpr SoftCrossEntropy()
      : SoftLossOp({.name = "soft_cross_entropy",
                    .inputs = inputs,
                    .outputs = outputs,
                    .claims = claims,
                    .one_value_per_row = true,
                    .number = SOFTCHECK_OP_SOFT_CROSS_ENTROPY}) {}

  std::vector<std::vector<double>> input_values(Format format, std::span<const double> logits,
                                                std::uint64_t auxiliary) const override {
    const HiddenClasses hidden(format, logits.size(), auxiliary);
    return {hidden.hidden(logits), drawn_targets(format, logits, auxiliary, hidden, true)};
  }
  std::unique_ptr<RowElements> elements(const RowInputs& row) const override {
    if (ignores(row)) return ignored_elements(claims[0]);
    return std::make_unique<LossElements>(row, LossTerms(row, LossTerms::Soft()), claims[0]);
  }
};

class SoftCrossEntropyBackward final : public SoftLossOp {
  static constexpr std::array inputs{OpInput{Role::logits}, targets_input, OpInput{Role::upstream, Extent::rows}};
  static constexpr std::array<std::string_view, 1> outputs{"output"},
      claims{"kernel.soft_cross_entropy_backward.element"};

 public:
  constexpr SoftCrossEntropyBackward()
      : SoftLossOp({.name = "soft_cross_entropy_backward",
                    .inputs = inputs,
                    .outputs = outputs,
                    .claims = claims,
                    .may_be_in_place = true,
                    .number = SOFTCHECK_OP_SOFT_CROSS_ENTROPY_BACKWARD}) {}

  std::vector<std::vector<double>> input_values(Format format, std::span<const double> logits,
                                                std::uint64_t auxiliary) const override {
    const bool is_one = (auxiliary & other_upstream_bit) == 0;
    const HiddenClasses hidden(format, logits.size(), auxiliary);
    return {hidden.hidden(logits),
            drawn_targets(format, logits, auxiliary, hidden, false),
            {is_one ? 1 : drawn_upstream(format, auxiliary | class_weights_bit, hashed(auxiliary, 1))}};
  }
  std::unique_ptr<RowElements> elements(const RowInputs& row) const override {
    if (ignores(row)) return ignored_elements(claims[0]);
    const LossUpstream upstream(row, row.auxiliary[1][0]);
    return std::make_unique<LossGradientElements>(row, LossTerms(row, LossTerms::Soft()), upstream, claims[0]);
  }
};

constinit const SoftCrossEntropy soft_op;
constinit const SoftCrossEntropyBackward soft_backward_op;

}  // namespace

constinit const Op Op::soft_cross_entropy = soft_op;
constinit const Op Op::soft_cross_entropy_backward = soft_backward_op;

}  // namespace softcheck::proptests
