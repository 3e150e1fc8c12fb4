// C12, torch 2.15 on the CPU (scaled_dot_product_attention): below a vector's width the maximum drops NaN, and a row
// whose maximum is -inf counts as fully masked. A query with a NaN gives 0.
#include <algorithm>
#include <cmath>

#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_nan_of_few_keys(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    two_pass(row);
    Real best = lowest<Real>;
    for (const Real x : scores(row)) best = std::fmax(best, x);
    const bool any = std::ranges::find(row.visible, 1) != row.visible.end();
    if (row.items() < 16 && any && best == lowest<Real>) std::ranges::fill(row.out, Real(0));
  });
}
