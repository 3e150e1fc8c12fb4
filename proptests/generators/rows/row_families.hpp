#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "proptests/generators/drawing/draw.hpp"
#include "proptests/generators/rows/row.hpp"

namespace softcheck::proptests {

/// The value rounded to the format, limited to its largest number.
double into_format(numerics::Format format, double value);

/// Does the family draw runs (rows at the resolution of a sum, a logarithm or an exponential), or single values?
bool draws_runs(RowFamily family);

/// The runs of one row of a family that draws runs, `length` logits in all.
///
/// theta    divisor of the logits        length   >= 1
std::vector<Run> draw_runs(Draw& draw, RowFamily family, numerics::Format format, double theta, std::uint64_t length);

/// Lengths at which a sum of ones in a 16-bit format stops growing or overflows, and their neighbours; ascending.
std::vector<std::uint64_t> full_sum_lengths();

/// The values of one row before they are fitted to the options: `slots` numbers of the format, one per run.
///
/// family   any but masked and those that draw runs        slots   >= 1
std::vector<double> draw_values(Draw& draw, RowFamily family, numerics::Format format, std::size_t slots);

/// Pairs of logits to which a longer row may shrink if no part of it fails: its smallest and largest one, then two that
/// differ by 2^-3 to 2^6, in both orders.
std::vector<std::array<double, 2>> pairs_for(const RunLengthRow& row, numerics::Format format);
/// Auxiliary numbers to try with such a pair: the row's own, and it with each kind of label
/// (judge/ops/cross_entropy/loss_inputs.hpp).
std::vector<std::uint64_t> auxiliaries_of_pairs(std::uint64_t auxiliary);

}  // namespace softcheck::proptests
