#pragma once

#include <cstdint>
#include <span>
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

}  // namespace softcheck::proptests
