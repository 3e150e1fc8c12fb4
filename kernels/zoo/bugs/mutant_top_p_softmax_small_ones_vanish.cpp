// Bug: coefficients below 10^-8 are left out whatever top_p says (FlashInfer 708).
#include "kernels/zoo/top_p_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_top_p_softmax_small_ones_vanish(const softcheck_call* call) {
  return each_top_p_row(call, [](auto& row) {
    using Real = typename std::decay_t<decltype(row)>::Number;
    const std::vector<Real> p = row.softmax();
    std::vector<bool> kept = row.prefix(p);
    for (std::size_t i = 0; i < p.size(); ++i) {
      if (p[i] < static_cast<Real>(1e-8)) kept[i] = false;
    }
    row.above_min_p(p, kept);
    row.renormalise(p, kept);
  });
}
