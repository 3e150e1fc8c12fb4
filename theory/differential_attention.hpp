#pragma once

#include <cstdint>
#include <vector>

#include "numerics/enclosures/certificate.hpp"
#include "theory/level_row.hpp"

namespace softcheck::theory {

// Differential attention (arXiv 2410.05258): the coefficient of an item is a = softmax(first)_i - lambda
// softmax(second)_i, lambda >= 0. It disperses as a softmax's does. Its share of the row's magnitude, abs(a) / sum
// abs(a_j), does so for lambda != 1; for lambda = 1 an item that alone has a coefficient above 0 holds
// half at every length.

/// differential_attention.bounds, two: every coefficient lies within the sharp bounds of Lemma 2.1 for both rows,
/// whichever item of the first row belongs to which of the second. The sides shown are those of the items nearest to
/// the bounds.
///
/// second   as many items as first
/// lambda   finite and >= 0
/// throws   std::invalid_argument when lambda or the lengths are not as said
std::vector<numerics::Certificate> certify_differential_bounds(const LevelRow& first, const LevelRow& second,
                                                               double lambda);

/// differential_attention.share: where the second row has the first one's logits negated, the largest share is at most
/// e^d (1 + lambda) / (n abs(1 - lambda)), d their spread.
///
/// lambda   finite, > 0 and not 1
std::vector<numerics::Certificate> certify_differential_share(const LevelRow& row, double lambda);

/// differential_attention.half: lambda = 1, one logit of the first row above n - 1 equal ones, and a second row of
/// equal logits: the item's share is 1/2.
///
/// others   n - 1 >= 1
/// above    by which it is above, > 0
std::vector<numerics::Certificate> certify_differential_half(std::uint64_t others, double above);

}  // namespace softcheck::theory
