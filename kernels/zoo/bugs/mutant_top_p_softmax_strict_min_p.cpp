// Bug: an item has to exceed min_p of the largest one: with min_p = 1 none does.
#include "kernels/zoo/top_p_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_top_p_softmax_strict_min_p(const softcheck_call* call) {
  return each_top_p_row(call, [](auto& row) {
    using Real = typename std::decay_t<decltype(row)>::Number;
    const std::vector<Real> p = row.softmax();
    std::vector<bool> kept = row.prefix(p);
    const Real largest = *std::max_element(p.begin(), p.end());
    for (std::size_t i = 0; i < p.size(); ++i) {
      if (row.min_p != 0 && p[i] <= row.min_p * largest) kept[i] = false;
    }
    row.renormalise(p, kept);
  });
}
