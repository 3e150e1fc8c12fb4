// Correct under contract entropy_from=coefficients lse=uncentred, as the entropy of a categorical distribution is
// written: x - lse, their softmax, and -sum p ln p. A row of one peak gives -0.
#include <cmath>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

namespace {

// ln p = x / T - lse, of a row with a finite maximum.
template <class Real>
RowOf<Real> log_probabilities(const RowOf<Real>& row) {
  const Real lse = logsumexp_of(row, sums_of(row));
  RowOf<Real> logs{row.logits, 1, row.logits};
  for (Real& x : logs.logits) x = static_cast<Real>(x * reciprocal_theta(row)) - lse;
  softmax(logs);
  return logs;
}

}  // namespace

SOFTCHECK_MUTANT correct_entropy_of_log_probabilities(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    row.out[0] = entropy_or(row, [](const RowOf<Real>& finite) {
      const RowOf<Real> logs = log_probabilities(finite);
      Real sum = 0;
      for (std::size_t i = 0; i < logs.out.size(); ++i) sum += logs.out[i] > 0 ? logs.out[i] * logs.logits[i] : 0;
      return -sum;
    });
  });
}

// C13: what is improbable is left out of the sum.
SOFTCHECK_MUTANT mutant_entropy_of_probable_items(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    row.out[0] = entropy_or(row, [](const RowOf<Real>& finite) {
      const RowOf<Real> logs = log_probabilities(finite);
      Real sum = 0;
      for (std::size_t i = 0; i < logs.out.size(); ++i) {
        sum += logs.out[i] > Real(1e-3) ? logs.out[i] * logs.logits[i] : 0;
      }
      return -sum;
    });
  });
}
