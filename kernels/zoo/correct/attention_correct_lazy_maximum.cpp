// Correct: the maximum is followed only where a score exceeds it by more than 8 ln 2, so that weights reach 256, as in
// FlashAttention-4. An argument below the maximum in use by z errs by |z| u, not by D u: E = 2 + 8 ln 2 < 7.6. Brought
// to the true maximum at the end. T has terms of both signs here: entropy is refused.
#include <algorithm>

#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT attention_correct_lazy_maximum(const softcheck_call* call) {
  if (call->n_outputs > 2) return 1;
  return attend(call, []<class Real>(Row<Real>& row) {
    constexpr Real threshold = Real(5.545);  // below 8 ln 2
    State<Real> s(row.out.size());
    Real largest_seen = lowest<Real>;
    for (std::size_t j = 0; j < row.items(); ++j) {
      const Real x = score(row, j);
      if (x == lowest<Real>) continue;
      largest_seen = std::max(largest_seen, x);
      if (s.maximum == lowest<Real> || x > s.maximum + threshold) rescale(s, x);
      add(s, row, j, s.maximum - x);
    }
    rescale(s, largest_seen);
    finish(row, s);
  });
}
