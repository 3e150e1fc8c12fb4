// C17, C4: right in all that it answers, but a call in which an exponential without a maximum overflows, or in which
// the sum of a row is 0, is refused.
#include <cmath>
#include <optional>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_refuses_what_naive_exp_cannot(const softcheck_call* call) {
  const std::optional<Matrices> matrices = matrices_of(*call);
  if (!matrices) {
    return 1;
  }
  bool failed = false;
  const int status = each_row(*matrices, [&]<class Real>(RowOf<Real>& row) {
    const Real naive = weights(row, Real(0), row.out);
    failed = failed || !std::isfinite(naive) || naive == 0;
    softmax(row);
  });
  return failed ? 1 : status;
}
