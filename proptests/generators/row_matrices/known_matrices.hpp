#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "proptests/generators/domains/known_shapes.hpp"
#include "proptests/generators/row_matrices/row_matrix.hpp"

namespace softcheck::proptests {

/// Two rows for projections onto the simplex: `support` items at 0 (at least 4,096), and some around -edge.
RowMatrixCase support_matrix(numerics::Format format, std::uint64_t support, double edge);

/// A call of a known shape: compact, nothing hidden, three to seven rows repeated. The last item is among the largest
/// of its row; rows of up to 1,024 items differ in most of their items.
RowMatrixCase known_matrix(numerics::Format format, const KnownRows& shape);

/// Five rows each of 3, 40 and 300 items whose logits reach the format's range, limited by `most`, on both sides of 0;
/// some items are hidden as infinities, by a mask, or both. Narrow ones first, that of the format's lowest number alone
/// before them.
std::vector<RowMatrixCase> reaching_matrices(numerics::Format format, double most);

/// Two rows whose coefficients lie just above the smallest normal number of each of these formats, and below it.
RowMatrixCase least_coefficients(numerics::Format logits, std::span<const numerics::Format> formats);

/// Matrices of two rows of these widths, with hidden items in both: the first half and the item before the last one, or
/// the last quarter. The last visible item has most of the weight.
std::vector<RowMatrixCase> masked_sweep(numerics::Format format, const std::vector<std::uint64_t>& widths,
                                        MaskUse mask);

/// Every remainder by 64, beyond 256 and beyond 2,048 columns. One half is for calls with hidden items, the other half,
/// with the other remainders of either, for calls without.
struct TailWidths {
  std::vector<std::uint64_t> plain, masked;
};
TailWidths tail_widths(std::uint64_t most);

/// Known shapes with at most this many items per row, and this many logits. The second function takes the shapes of
/// more than 64 rows with at most 2^18 logits, the longest row, and `drawn` others of few logits that the seed selects.
std::vector<KnownRows> chosen_rows(std::uint64_t most_items, std::uint64_t most_logits);
std::vector<KnownRows> chosen_rows(std::uint64_t most_items, std::size_t drawn, std::uint64_t seed);

}  // namespace softcheck::proptests
