// Bug: the prefix reaches 1 - top_p: the sort was descending, the comparison that of an ascending one.
#include "kernels/zoo/top_p_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_top_p_softmax_complement(const softcheck_call* call) {
  return each_top_p_row(call, [](auto& row) {
    using Real = typename std::decay_t<decltype(row)>::Number;
    const std::vector<Real> p = row.softmax();
    if (row.top_p != 0) row.top_p = 1 - row.top_p;
    std::vector<bool> kept = row.prefix(p);
    if (row.top_p == 0 && !kept.empty()) kept.assign(kept.size(), true);
    row.above_min_p(p, kept);
    row.renormalise(p, kept);
  });
}
