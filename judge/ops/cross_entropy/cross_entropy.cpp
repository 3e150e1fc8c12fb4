// loss = (1 - s) w_y (L - x_y) + s mean(w (L - x)) + z L^2, and its gradient by the logits (B14, B15).
#include <array>
#include <memory>

#include "judge/ops/cross_entropy/loss_elements.hpp"
#include "judge/ops/cross_entropy/loss_inputs.hpp"
#include "judge/ops/rows/gradient_inputs.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

class CrossEntropy final : public LossOp {
  static constexpr std::array inputs{OpInput{Role::logits}, OpInput{Role::labels, Extent::rows, true},
                                     loss_class_weights};
  static constexpr std::array<std::string_view, 1> outputs{"loss"}, claims{"kernel.cross_entropy.loss"};

 public:
  constexpr CrossEntropy()
      : LossOp({.name = "cross_entropy",
                .inputs = inputs,
                .outputs = outputs,
                .claims = claims,
                .one_value_per_row = true,
                .number = SOFTCHECK_OP_CROSS_ENTROPY}) {}

  std::vector<std::vector<double>> input_values(Format format, std::span<const double> logits,
                                                std::uint64_t auxiliary) const override {
    const HiddenClasses hidden(format, logits.size(), auxiliary);
    const double label = drawn_label(logits, auxiliary);
    return {hidden.hidden(logits),
            {hidden.may_hide_label() ? label : visible_label(label, hidden, logits.size())},
            drawn_class_weights(format, logits.size(), auxiliary)};
  }
  std::unique_ptr<RowElements> elements(const RowInputs& row) const override {
    if (has_ignored_label(row)) return ignored_elements(claims[0]);
    return std::make_unique<LossElements>(row, class_weights_of(row, 1), claims[0]);
  }
};

class CrossEntropyBackward final : public LossOp {
  static constexpr std::array inputs{OpInput{Role::logits}, OpInput{Role::labels, Extent::rows, true},
                                     OpInput{Role::upstream, Extent::rows}, loss_class_weights};
  static constexpr std::array<std::string_view, 1> outputs{"output"}, claims{"kernel.cross_entropy_backward.element"};

 public:
  constexpr CrossEntropyBackward()
      : LossOp({.name = "cross_entropy_backward",
                .inputs = inputs,
                .outputs = outputs,
                .claims = claims,
                .may_be_in_place = true,
                .number = SOFTCHECK_OP_CROSS_ENTROPY_BACKWARD}) {}

  std::vector<std::vector<double>> input_values(Format format, std::span<const double> logits,
                                                std::uint64_t auxiliary) const override {
    const bool is_one = (auxiliary & other_upstream_bit) == 0;
    const HiddenClasses hidden(format, logits.size(), auxiliary);
    return {hidden.hidden(logits),
            {visible_label(drawn_label(logits, auxiliary), hidden, logits.size())},
            {is_one ? 1 : drawn_upstream(format, auxiliary, hashed(auxiliary, 1))},
            drawn_class_weights(format, logits.size(), auxiliary)};
  }
  std::unique_ptr<RowElements> elements(const RowInputs& row) const override {
    if (has_ignored_label(row)) return ignored_elements(claims[0]);
    const LossUpstream upstream(row, row.auxiliary[1][0]);
    return std::make_unique<LossGradientElements>(row, LossTerms(row, class_weights_of(row, 2)), upstream, claims[0]);
  }
};

constinit const CrossEntropy cross_entropy_op;
constinit const CrossEntropyBackward cross_entropy_backward_op;

}  // namespace

constinit const Op Op::cross_entropy = cross_entropy_op;
constinit const Op Op::cross_entropy_backward = cross_entropy_backward_op;

}  // namespace softcheck::proptests
