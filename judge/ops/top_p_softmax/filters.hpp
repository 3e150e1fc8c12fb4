#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "judge/ops/rows/judged_row.hpp"
#include "judge/ops/rows/row_op.hpp"
#include "numerics/formats/format.hpp"

namespace softcheck::proptests {

/// The attributes of a call with rows of n items. top_p and min_p, from the low six bits of RowCase::auxiliary, are
/// off, 1, tiny or in between; k and renormalize follow from these bits and n, if the domain has top_k. 0 for a number
/// that each row has.
Attributes drawn_filters(std::uint64_t auxiliary, std::size_t n);
/// RowOp::closed_auxiliaries and set_auxiliaries for the domain's words.
std::uint64_t closed_filters(const Domain& domain);
std::uint64_t set_filters(const Domain& domain);

/// The inputs of sampling: the logits, then the numbers of each row.
enum class FilterInput : std::size_t { logits, top_k, top_p, min_p, temperature };
/// Has each row its own number? Depends on the bits that all rows of a call share.
bool has_filter_input(FilterInput input, std::uint64_t auxiliary);
/// The other inputs of a row of n items, (1) or () each.
std::vector<std::vector<double>> filter_inputs(numerics::Format format, std::span<const double> logits,
                                               std::uint64_t auxiliary);
/// The row with its own numbers as attributes and theta.
RowInputs with_own_filters(RowInputs row);
/// The row that the judge passes for these bits: the drawn one, or one whose masses or levels lie at the call's limits:
/// equal logits, each logit's weight half of the one before, or neighbours of min_p times the largest.
std::vector<double> filtered_logits(numerics::Format format, std::span<const double> logits, std::uint64_t auxiliary);

/// Indices of the finite logits, from the largest on; of equal ones the lowest first.
std::vector<std::size_t> by_descending_logits(std::span<const double> logits);
/// The items that exact top-p and min-p keep; of equal logits the lowest indices. A mass that 512 bits cannot separate
/// from top_p counts as reaching it.
std::vector<bool> exactly_selected(const RowInputs& row);

}  // namespace softcheck::proptests
