#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "proptests/generators/row_matrices/row_matrix.hpp"

namespace softcheck::proptests {

/// One dimension of a call and its classes: lengths, parameters, layouts, kinds of values.
struct MatrixDimension {
  std::string name;
  std::vector<std::string> classes;
};

/// The dimension of the kinds of numbers.
inline constexpr const char* values_dimension = "values";

/// The dimensions and classes by which calls of logits are covered. The classes of a dimension are disjoint: every call
/// has one class of each dimension.
const std::vector<MatrixDimension>& matrix_dimensions();

/// The matrix's class in each dimension, in the order of matrix_dimensions().
std::vector<std::size_t> classes_of(const RowMatrixCase& matrix);

/// Matrices that cover every pair of classes that a call within the options can have: a covering array; the rest of
/// each call is random.
struct MatrixCover {
  std::vector<RowMatrixCase> matrices;      // in ascending order of size
  std::vector<std::vector<bool>> possible;  // per class of each dimension: can a call have it?
};

/// options.rows gives the format, the domain and the longest row; options.most_rows and max_elements limit the calls.
///
/// pairs            cover all pairs of classes; else each single class
/// stop_requested   polled if set
/// throws           Interrupted if it returns true
MatrixCover covering_matrices(const RowMatrixOptions& options, bool pairs, std::uint64_t seed,
                              const std::function<bool()>& stop_requested = {});

}  // namespace softcheck::proptests
