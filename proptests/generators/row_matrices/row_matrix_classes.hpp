#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "proptests/generators/row_matrices/row_matrix.hpp"

namespace softcheck::proptests {

/// Classes of one dimension of a call: lengths, parameters, layouts, kinds of values.
struct MatrixDimension {
  std::string name;
  std::vector<std::string> classes;
};

/// The dimension that tells what kind of numbers stand in a call.
inline constexpr const char* values_dimension = "values";

/// The dimensions that a matrix of logits and its call have, and their classes: what calls are covered by. The classes
/// of one dimension exclude one another, so that every call has one class of each.
const std::vector<MatrixDimension>& matrix_dimensions();

/// Which class of each dimension a matrix has, in the order of matrix_dimensions().
std::vector<std::size_t> classes_of(const RowMatrixCase& matrix);

/// Matrices such that every two classes of two dimensions stand together in one of them, where a call within the
/// options may have both: a covering array, the rest of each call drawn.
struct MatrixCover {
  std::vector<RowMatrixCase> matrices;      // in ascending order of size
  std::vector<std::vector<bool>> possible;  // of each dimension's classes: may a call have it?
};

/// options.rows gives format, domain and the longest row, options.most_rows and max_elements limit the calls.
///
/// pairs          all pairs of classes; else each class once
/// stop_requested   asked time and again, where it is set
/// throws         Interrupted when it says yes
MatrixCover covering_matrices(const RowMatrixOptions& options, bool pairs, std::uint64_t seed,
                              const std::function<bool()>& stop_requested = {});

}  // namespace softcheck::proptests
