#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "proptests/generators/drawing/draw.hpp"
#include "proptests/generators/rows/row.hpp"

namespace softcheck::proptests {

/// value rounded to the format; beyond its largest number that number.
double into_format(numerics::Format format, double value);

/// Is the family one of runs - rows at the edge of what a sum, a logarithm or an exponential can tell - or one of
/// values?
bool draws_runs(RowFamily family);

/// The runs of one row of a family that draws them; length logits in all.
///
/// theta    by which the logits will be divided        length   >= 1
std::vector<Run> draw_runs(Draw& draw, RowFamily family, numerics::Format format, double theta, std::uint64_t length);

/// Lengths at which a sum of ones in a 16-bit format stops growing or overflows, and their neighbours; ascending.
std::vector<std::uint64_t> full_sum_lengths();

/// Values of one row before they are fitted to the options: slots numbers of the format, one for each run.
///
/// family   any but masked and those that draw runs        slots   >= 1
std::vector<double> draw_values(Draw& draw, RowFamily family, numerics::Format format, std::size_t slots);

/// Two logits of the format that a longer row may shrink to where no part of it fails: its smallest and its largest
/// one, then two that lie from 2^-3 to 2^6 apart, in both orders.
std::vector<std::array<double, 2>> pairs_for(const RunLengthRow& row, numerics::Format format);
/// What may stand beside two logits where something stood beside a longer row: its own number, and the same with each
/// kind of label (judge/ops/cross_entropy/loss_inputs.hpp).
std::vector<std::uint64_t> auxiliaries_of_pairs(std::uint64_t auxiliary);

}  // namespace softcheck::proptests
