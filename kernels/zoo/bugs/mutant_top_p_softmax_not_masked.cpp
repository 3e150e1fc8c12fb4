// Bug: divided by the sum of what is kept, but nothing is left out (the remedy proposed in SGLang 4876).
#include "kernels/zoo/top_p_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_top_p_softmax_not_masked(const softcheck_call* call) {
  return each_top_p_row(call, [](auto& row) {
    using Real = typename std::decay_t<decltype(row)>::Number;
    const std::vector<Real> p = row.softmax();
    std::vector<bool> kept = row.prefix(p);
    row.above_min_p(p, kept);
    Real sum = 0;
    for (std::size_t i = 0; i < p.size(); ++i) sum += kept[i] ? p[i] : 0;
    for (std::size_t i = 0; i < p.size(); ++i) row.out[i] = p[i] / sum;
  });
}
