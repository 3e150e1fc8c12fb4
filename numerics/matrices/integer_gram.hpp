#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <optional>
#include <vector>

#include "numerics/enclosures/decision.hpp"
#include "numerics/enclosures/enclosure.hpp"

namespace softcheck::numerics {

/// The largest q such that every entry is a multiple of 2^q, if B B^T / 2^2q then consists of integers whose partial
/// sums stay below 2^53 in any order, so that every product and sum of a matrix product is exact. Nothing otherwise.
///
/// entries  (rows, columns), finite, not all zero
std::optional<int> exact_product_exponent(const Eigen::MatrixXd& entries);

/// Exact bounds of the largest eigenvalue of a positive semidefinite matrix N of integers below 2^53.
class IntegerGram {
 public:
  /// gram    (n, n), n < 2^20, its lower triangle holds integers times 2^exponent     exponent   within [-1000, 1000]
  IntegerGram(const Eigen::MatrixXd& gram, int exponent);

  /// Tries the test vectors that decide diagonal matrices, multiples of the identity, rank one and constant row sums.
  void try_structure();
  /// Tries an eigenvector rounded to small integers.
  void try_vector(const Eigen::VectorXd& eigenvector);
  /// Raises the lower end to the Rayleigh quotient of any vector, evaluated in enclosures.
  void raise_lower(const Eigen::VectorXd& vector);

  /// Is the largest eigenvalue <= bound? By the signs of the pivots of bound I - N = L D L^T (Sylvester), in
  /// enclosures.
  Decision largest_at_most(const Enclosure& bound) const;

  /// Encloses the largest eigenvalue of N.
  Enclosure eigenvalue() const;

 private:
  // For every vector w: Rayleigh quotient <= largest; and for every v > 0: largest <= max (|N| v)_i / v_i (Collatz).
  void try_integers(const std::vector<std::int64_t>& vector);

  Eigen::Index size_;
  std::vector<std::int64_t> entries_;  // both triangles
  Enclosure lower_;
  Enclosure upper_;
};

}  // namespace softcheck::numerics
