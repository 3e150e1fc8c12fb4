#pragma once

#include <Eigen/Core>

#include "proptests/generators/matrices/matrix.hpp"

namespace softcheck::proptests {

inline Eigen::MatrixXd to_eigen(const Matrix& matrix) {
  using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  return Eigen::Map<const Rows>(matrix.entries.data(), static_cast<Eigen::Index>(matrix.rows),
                                static_cast<Eigen::Index>(matrix.cols));
}

}  // namespace softcheck::proptests
