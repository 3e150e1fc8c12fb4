// Correct under contract theta=before: softmax(x / T) as most programs write it: every logit is divided first.
#include <cmath>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

namespace {

// The row of x / T, at temperature 1.
template <class Real>
RowOf<Real> divided_row(const RowOf<Real>& row) {
  RowOf<Real> result = row;
  result.theta = 1;
  for (Real& x : result.logits) x = x / static_cast<Real>(row.theta);
  return result;
}

}  // namespace

SOFTCHECK_MUTANT correct_theta_before(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    RowOf<Real> divided = divided_row(row);
    softmax(divided);
    row.out = divided.out;
  });
}

SOFTCHECK_MUTANT correct_log_softmax_theta_before(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    RowOf<Real> divided = divided_row(row);
    log_softmax(divided);
    row.out = divided.out;
  });
}

SOFTCHECK_MUTANT correct_logsumexp_theta_before(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    const RowOf<Real> divided = divided_row(row);
    row.out[0] = logsumexp_or(divided, [](const RowOf<Real>& finite) { return logsumexp_of(finite, sums_of(finite)); });
  });
}

SOFTCHECK_MUTANT correct_entropy_theta_before(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    const RowOf<Real> divided = divided_row(row);
    row.out[0] = entropy_or(divided, [](const RowOf<Real>& finite) { return entropy_of(sums_of(finite)); });
  });
}
