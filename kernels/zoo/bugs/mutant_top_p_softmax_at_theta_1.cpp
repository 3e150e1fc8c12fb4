// Bug: the temperature comes behind the filters: these see softmax(x).
#include "kernels/zoo/top_p_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_top_p_softmax_at_theta_1(const softcheck_call* call) {
  return each_top_p_row(call, [](auto& row) {
    using Real = typename std::decay_t<decltype(row)>::Number;
    const std::vector<Real> p = row.softmax();
    const Real theta = row.theta;
    row.theta = 1;
    const std::vector<Real> plain = row.softmax();
    row.theta = theta;
    std::vector<bool> kept = row.prefix(plain);
    row.above_min_p(plain, kept);
    row.renormalise(p, kept);
  });
}
