#pragma once

#include <cstddef>
#include <vector>

#include "judge/sandbox/watched_kernel.hpp"
#include "proptests/generators/row_matrices/row_matrix.hpp"

namespace softcheck::proptests {

/// The features that a plain matrix (visible, contiguous, theta 1) lacks, one bit each.
enum MatrixFeature : unsigned {
  some_nans = 1,
  a_mask = 2,
  infinities = 4,  // logits of -inf
  column_strides = 8,
  gaps = 16,  // between rows, or offsets
  a_theta = 32,
  plus_infinities = 64
};
inline constexpr std::size_t matrix_features = 7;

/// The features of the matrix.
unsigned features_of(const RowMatrixCase& matrix);
/// Nearly the same rows without these features: masked items become -inf, items of -inf the lowest logit, and x / theta
/// is rounded to the format.
RowMatrixCase without(RowMatrixCase matrix, unsigned features);
/// The matrix without any feature, and with all items visible.
RowMatrixCase plain_form(const RowMatrixCase& matrix);
/// Sets of the matrix's features to drop for a kernel that refuses it: first single features, then pairs and so on.
std::vector<unsigned> simpler_forms(const RowMatrixCase& matrix);

/// The kind of a call for counting refusals: "with a mask".
CallKind kind_of(const RowMatrixCase& matrix);

}  // namespace softcheck::proptests
