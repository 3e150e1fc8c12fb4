#include "theory/enclosed_matrix.hpp"

#include <sstream>

#include "numerics/enclosures/certificate.hpp"
#include "numerics/matrices/singular_value.hpp"

namespace softcheck::theory {

using numerics::Enclosure;

SigmaUpper certified_sigma() {
  return [](const Eigen::MatrixXd& matrix) { return numerics::largest_singular_value(matrix).upper; };
}

double sigma_of(const SigmaUpper& sigma, const EnclosedColumns& columns) {
  const std::size_t rows = columns.empty() ? 0 : columns.front().size();
  Eigen::MatrixXd nearby(rows, columns.size());
  Enclosure error_square;
  for (std::size_t j = 0; j < columns.size(); ++j) {
    for (std::size_t i = 0; i < rows; ++i) {
      double& entry = nearby(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j));
      entry = columns[j][i].midpoint();
      error_square += square(columns[j][i] - Enclosure(entry));
    }
  }
  return (Enclosure(sigma(nearby)) + sqrt(error_square)).upper_double();
}

Enclosure root_difference(const Enclosure& p, const Enclosure& q) {
  const Enclosure difference = p - q;
  if (difference.is_point() && difference.contains(0.0)) return difference;
  return difference / (sqrt(p) + sqrt(q));
}

Enclosure largest_difference(const std::vector<Enclosure>& x) {
  Enclosure largest;
  for (std::size_t j = 0; j < x.size(); ++j) {
    for (std::size_t k = 0; k < j; ++k) largest = maximum(largest, abs(x[j] - x[k]));
  }
  return largest;
}

std::string text_of(const Eigen::MatrixXd& matrix) {
  std::ostringstream text;
  for (Eigen::Index i = 0; i < matrix.rows(); ++i) {
    for (Eigen::Index j = 0; j < matrix.cols(); ++j) {
      text << (j > 0 ? " " : i > 0 ? "; " : "") << numerics::hex_float(matrix(i, j));
    }
  }
  return "[" + text.str() + "]";
}

}  // namespace softcheck::theory
