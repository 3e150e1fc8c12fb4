#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "proptests/generators/rows/row.hpp"

namespace softcheck::proptests {

/// Two logits of the format that a longer row may shrink to where no part of it fails: its smallest and its largest
/// one, then two that lie from 2^-3 to 2^6 apart, in both orders.
std::vector<std::array<double, 2>> pairs_for(const RunLengthRow& row, numerics::Format format);
/// What may stand beside two logits where something stood beside a longer row: its own number, and the same with each
/// kind of label (judge/ops/cross_entropy/loss_inputs.hpp).
std::vector<std::uint64_t> auxiliaries_of_pairs(std::uint64_t auxiliary);

}  // namespace softcheck::proptests
