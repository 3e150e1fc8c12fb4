// C12, OpenVINO PR #37857: 2^f on [0, 1) by a straight line, 3 % at most: too much for a kernel that declares 1 ulp.
#include <cmath>
#include <cstddef>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_exp_by_a_line(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    const Real m = maximum(row.logits);
    Real sum = 0;
    for (std::size_t i = 0; i < row.out.size(); ++i) {
      const Real z = (row.logits[i] - m) * reciprocal_theta(row) * Real(1.44269504088896341);
      const Real whole = std::floor(z);
      row.out[i] =
          std::isnan(z) || z < -126 ? std::exp(z) : std::ldexp(Real(0.957) + (z - whole), static_cast<int>(whole));
      sum += row.out[i];
    }
    divide(row.out, sum);
  });
}
