#pragma once

#include <vector>

#include "proptests/generators/row_matrices/row_matrix.hpp"

namespace softcheck::proptests {

/// Puts first the call with the most classes of matrix_dimensions(), then the one that adds the most to those before
/// it, and so on: a few calls from the front then have as many classes as so few can. Of equal ones the smaller is
/// first.
void order_by_new_classes(std::vector<RowMatrixCase>& matrices);

}  // namespace softcheck::proptests
