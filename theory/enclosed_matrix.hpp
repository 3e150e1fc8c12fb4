#pragma once

#include <Eigen/Core>
#include <functional>
#include <string>
#include <vector>

#include "numerics/enclosures/enclosure.hpp"

namespace softcheck::theory {

/// An upper bound of the largest singular value: numerics::largest_singular_value(matrix).upper. An estimate, such as
/// that of power iteration, is not an upper bound.
using SigmaUpper = std::function<double(const Eigen::MatrixXd&)>;
SigmaUpper certified_sigma();

/// The columns of a matrix whose entries are known as enclosures, all of the same length.
using EnclosedColumns = std::vector<std::vector<numerics::Enclosure>>;

/// An upper bound of the largest singular value of every matrix with entries in these enclosures: sigma of nearby
/// doubles, plus the Frobenius norm of the remainder.
double sigma_of(const SigmaUpper& sigma, const EnclosedColumns& columns);

/// sqrt(p) - sqrt(q) = (p - q) / (sqrt(p) + sqrt(q)) for p, q >= 0: exactly 0 if p and q are the same point.
numerics::Enclosure root_difference(const numerics::Enclosure& p, const numerics::Enclosure& q);

/// max |x_j - x_k|: exactly 0 for one number.
numerics::Enclosure largest_difference(const std::vector<numerics::Enclosure>& x);

/// "[0x1p+0 0x0p+0; 0x1.8p+1 -0x1p-2]", row by row.
std::string text_of(const Eigen::MatrixXd& matrix);

}  // namespace softcheck::theory
