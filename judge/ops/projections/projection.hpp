#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "judge/ops/rows/judged_row.hpp"
#include "judge/ops/rows/row_elements.hpp"
#include "numerics/formats/format.hpp"

/// What the projections of a row on the simplex share: rows whose support ends somewhere, and coefficients that are
/// exactly 0 beyond it.
namespace softcheck::proptests {

/// Where a support ends, in deviations from the largest logit.
struct SupportScale {
  double unit;                     // the widest support's: an item at that deviation from a single largest one has none
  double (*edge)(double largest);  // the same beside so many equal largest ones
};

/// What a row of drawn logits becomes by the number beside it: as it was drawn; its deviations scaled to some largest
/// one; all but the first items at the edge of the support.
std::vector<double> supported_logits(numerics::Format format, std::span<const double> logits, std::uint64_t auxiliary,
                                     const SupportScale& scale);

/// One finding of the elements' claim. A masked item, and one whose threshold is 0, is exactly +0; no coefficient is
/// negative or -0.
void judge_projection(const RowOp& op, const JudgedRow& row, RowElements& elements, RowVerdicts& verdicts);

}  // namespace softcheck::proptests
