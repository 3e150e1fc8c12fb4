#pragma once

#include <cstdint>
#include <vector>

#include "proptests/generators/domains/known_shapes.hpp"
#include "proptests/generators/row_matrices/row_matrix.hpp"

namespace softcheck::proptests {

/// Two rows for projections on the simplex: `support` items at 0, 4,096 or more, and some around -edge.
RowMatrixCase support_matrix(numerics::Format format, std::uint64_t support, double edge);

/// A call of a known shape: compact, nothing hidden, three to seven rows that stand in turn. Their last item is among
/// the largest, and rows of up to 1,024 items differ in most of them.
RowMatrixCase known_matrix(numerics::Format format, const KnownRows& shape);

/// Five rows each, of 3, 40 and 300 items, whose logits reach the format's range, at most `most`, on both sides of 0;
/// some are hidden as infinities, by a mask, or both. The narrow ones come first.
std::vector<RowMatrixCase> reaching_matrices(numerics::Format format, double most);

/// Known shapes of at most so many items a row. All, or of the first ones, which are calls of many rows, those of at
/// most `few_logits` logits, and as many others as `drawn` says, chosen by the seed.
std::vector<KnownRows> chosen_rows(std::uint64_t most_items);
std::vector<KnownRows> chosen_rows(std::uint64_t most_items, std::uint64_t few_logits, std::size_t drawn,
                                   std::uint64_t seed);

}  // namespace softcheck::proptests
