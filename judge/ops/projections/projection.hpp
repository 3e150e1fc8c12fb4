#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "judge/ops/rows/judged_row.hpp"
#include "judge/ops/rows/row_elements.hpp"
#include "numerics/formats/format.hpp"

/// What projections of a row onto the simplex share: rows with a limited support, and coefficients that are exactly 0
/// outside it.
namespace softcheck::proptests {

/// The edge of the support, as a deviation from the largest logit.
struct SupportScale {
  double unit;                     // for a single largest logit: an item at this deviation has coefficient 0
  double (*edge)(double largest);  // the same for this many equal largest logits
};

/// The row that the judge passes for this number: the drawn one, one scaled to a certain largest deviation, or one in
/// which all but the first items lie at the edge of the support.
std::vector<double> supported_logits(numerics::Format format, std::span<const double> logits, std::uint64_t auxiliary,
                                     const SupportScale& scale);

/// Adds one finding of the elements' claim. A masked item, and one with threshold 0, must be exactly +0; no coefficient
/// may be negative or -0.
void judge_projection(const RowOp& op, const JudgedRow& row, RowElements& elements, RowVerdicts& verdicts);

/// The op whose values and thresholds are Elements: a RowElements of RowInputs with a support_scale.
template <class Elements>
class Projection final : public RowOp {
  static constexpr std::array inputs{OpInput{Role::logits}};
  static constexpr std::array<std::string_view, 1> outputs{"output"}, claims{Elements::claim_id};

 public:
  constexpr Projection(std::string_view name, std::uint32_t number)
      : RowOp({.name = name,
               .inputs = inputs,
               .outputs = outputs,
               .claims = claims,
               .has_theta = false,
               .takes_mask = false,
               .has_limit = false,
               .may_be_in_place = true,
               .number = number,
               .answers = {.exponentials = false, .expensive = true}}) {}

  std::vector<std::vector<double>> input_values(numerics::Format format, std::span<const double> logits,
                                                std::uint64_t auxiliary) const override {
    return {supported_logits(format, logits, auxiliary, Elements::support_scale)};
  }
  std::optional<double> edge_of_support(double largest) const override { return Elements::support_scale.edge(largest); }
  std::unique_ptr<RowElements> elements(const RowInputs& row) const override { return std::make_unique<Elements>(row); }

  void judge(const JudgedRow& row, RowVerdicts& verdicts) const override {
    const numerics::PrecisionScope precision(113);
    Elements elements(row);
    judge_projection(*this, row, elements, verdicts);
  }
};

}  // namespace softcheck::proptests
