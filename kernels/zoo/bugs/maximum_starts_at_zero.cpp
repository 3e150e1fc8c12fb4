// C3, rvllm PR #1, lightseq PR #74: lanes without a logit hold 0, and the maximum is at least that: rows far below zero
// are 0/0.
#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_maximum_starts_at_zero(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    const Real m = maximum(row.logits);
    divide(row.out, weights(row, m < 0 && m > -infinity ? Real(0) : m, row.out));
  });
}
