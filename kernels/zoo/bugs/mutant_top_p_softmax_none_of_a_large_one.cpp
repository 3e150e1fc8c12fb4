// Bug: an item larger than top_p leaves nothing (tiny-llm 32).
#include "kernels/zoo/top_p_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_top_p_softmax_none_of_a_large_one(const softcheck_call* call) {
  return each_top_p_row(call, [](auto& row) {
    using Real = typename std::decay_t<decltype(row)>::Number;
    const std::vector<Real> p = row.softmax();
    std::vector<bool> kept(row.size(), row.top_p == 0);
    Real up_to = 0;
    for (const std::size_t i : row.descending(p)) {
      if (row.top_p == 0) break;
      up_to += p[i];
      kept[i] = !(up_to > row.top_p);
    }
    row.above_min_p(p, kept);
    row.renormalise(p, kept);
  });
}
