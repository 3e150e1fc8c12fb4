#pragma once

#include <Eigen/Core>
#include <string_view>

#include "numerics/enclosures/enclosure.hpp"

namespace softcheck::numerics {

/// A matrix scaled to the middle of the double range: A = 2^exponent (entries + E), or its transpose.
struct ScaledMatrix {
  Eigen::MatrixXd entries;  // rows <= columns, all in [-1, 1]
  int exponent = 0;
  bool exact = true;  // E = 0; else |E_ij| <= 2^-1075, since an entry became subnormal

  /// Upper bound of ||E||_2 <= ||E||_F.
  Enclosure error() const;
};

/// matrix   not empty, finite     caller   name of the function for errors
/// throws   std::invalid_argument if an entry is infinite or NaN
ScaledMatrix scale_to_unit(const Eigen::Ref<const Eigen::MatrixXd>& matrix, std::string_view caller);

/// gamma_k = k u / (1 - k u), u = 2^-53: bounds |product of k factors (1 + delta)^(+-1) - 1| for |delta| <= u, and so
/// the error of any sum of k products relative to the sum of their absolute values, in any order, with or without FMA
/// (Higham, Accuracy and Stability, 2nd ed., lemma 3.1 and section 3.1).
Enclosure rounding_gamma(Eigen::Index k);

/// Total loss of k products that end among the subnormal numbers: each at most 2^-1075, then at most doubled by the (1
/// + gamma_k) of the later additions, which lose nothing there.
Enclosure underflow_loss(Eigen::Index k);

}  // namespace softcheck::numerics
