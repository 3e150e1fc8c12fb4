// Bug: all items as small as the last one of the prefix are left out, but the largest.
#include "kernels/zoo/top_p_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_top_p_softmax_ties_dropped(const softcheck_call* call) {
  return each_top_p_row(call, [](auto& row) {
    using Real = typename std::decay_t<decltype(row)>::Number;
    const std::vector<Real> p = row.softmax();
    std::vector<bool> kept = row.prefix(p);
    Real pivot = std::numeric_limits<Real>::infinity();
    for (std::size_t i = 0; i < p.size(); ++i) {
      if (kept[i] && p[i] < pivot) pivot = p[i];
    }
    std::size_t equal = 0;
    for (std::size_t i = 0; i < p.size(); ++i) equal += p[i] == pivot ? 1 : 0;
    const Real largest = *std::max_element(p.begin(), p.end());
    for (std::size_t i = 0; i < p.size(); ++i) {
      if (row.top_p != 0 && equal > 1 && p[i] == pivot && pivot < largest) kept[i] = false;
    }
    row.above_min_p(p, kept);
    row.renormalise(p, kept);
  });
}
