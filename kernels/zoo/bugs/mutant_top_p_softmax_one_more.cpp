// Bug: the item behind the one with which the prefix reaches top_p is kept, too (transformers 18976, off by one).
#include "kernels/zoo/top_p_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_top_p_softmax_one_more(const softcheck_call* call) {
  return each_top_p_row(call, [](auto& row) {
    using Real = typename std::decay_t<decltype(row)>::Number;
    const std::vector<Real> p = row.softmax();
    std::vector<bool> kept = row.prefix(p);
    for (const std::size_t i : row.descending(p)) {
      if (kept[i]) continue;
      kept[i] = true;
      break;
    }
    row.above_min_p(p, kept);
    row.renormalise(p, kept);
  });
}
