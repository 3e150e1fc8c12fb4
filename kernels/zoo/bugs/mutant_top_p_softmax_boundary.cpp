// Bug: the item with which the prefix reaches top_p is left out, all but the first (fish-speech 1171, esm 360,
// FlashInfer 2202).
#include "kernels/zoo/top_p_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_top_p_softmax_boundary(const softcheck_call* call) {
  return each_top_p_row(call, [](auto& row) {
    using Real = typename std::decay_t<decltype(row)>::Number;
    const std::vector<Real> p = row.softmax();
    std::vector<bool> kept(row.size(), row.top_p == 0);
    Real up_to = 0;
    const std::vector<std::size_t> order = row.descending(p);
    for (std::size_t k = 0; row.top_p != 0 && k < order.size(); ++k) {
      up_to += p[order[k]];
      kept[order[k]] = k == 0 || !(up_to > row.top_p);
    }
    row.above_min_p(p, kept);
    row.renormalise(p, kept);
  });
}
