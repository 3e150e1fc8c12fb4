// C13, the paper's own code, AST #17 with 1e-8: -sum p ln(p + 1e-8) where the exact entropy was promised.
#include <cmath>

#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_entropy_with_epsilon(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    attend_two_pass(row);
    if (row.lse == lowest<Real>) return;
    row.entropy = 0;
    for (const Real x : scores(row)) {
      const Real p = std::exp(x - row.lse);
      row.entropy -= p * std::log(p + Real(1e-8));
    }
  });
}
