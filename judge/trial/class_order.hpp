#pragma once

#include <vector>

#include "proptests/generators/row_matrices/row_matrix.hpp"

namespace softcheck::proptests {

/// Sorts greedily: first the call with the most classes of matrix_dimensions(), then the one that adds the most new
/// classes, and so on, so that the first few calls cover many classes. Of equal calls the smaller comes first.
void order_by_new_classes(std::vector<RowMatrixCase>& matrices);

}  // namespace softcheck::proptests
