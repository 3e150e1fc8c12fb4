// Bug: the prefix is one of the smallest items.
#include "kernels/zoo/top_p_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_top_p_softmax_ascending_prefix(const softcheck_call* call) {
  return each_top_p_row(call, [](auto& row) {
    using Real = typename std::decay_t<decltype(row)>::Number;
    const std::vector<Real> p = row.softmax();
    std::vector<bool> kept(row.size(), row.top_p == 0);
    std::vector<std::size_t> order = row.descending(p);
    std::reverse(order.begin(), order.end());
    Real before = 0;
    for (const std::size_t i : order) {
      if (row.top_p == 0 || before >= row.top_p) break;
      kept[i] = true;
      before += p[i];
    }
    row.above_min_p(p, kept);
    row.renormalise(p, kept);
  });
}
