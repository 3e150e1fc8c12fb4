// C12: exp2 by a parabola between powers of two, errors up to 2e-3.
#include <cmath>
#include <numbers>

#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_exp_of_degree_two(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    const auto x = scores(row);
    const Real m = largest(x);
    State<Real> s(row.out.size());
    s.maximum = m;
    for (std::size_t j = 0; j < x.size(); ++j) {
      if (x[j] == lowest<Real>) continue;
      const Real y = (x[j] - m) * static_cast<Real>(std::numbers::log2e), whole = std::floor(y), part = y - whole;
      const Real parabola = 1 + part * (Real(0.656) + part * Real(0.344));
      add(s, row, j, -(whole * static_cast<Real>(std::numbers::ln2) + std::log(parabola)));
    }
    finish(row, s);
  });
}
