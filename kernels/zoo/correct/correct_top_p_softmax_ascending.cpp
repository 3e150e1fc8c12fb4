// Correct: from the smallest on, items are left out while they add up to 1 - top_p at most (transformers); softmax
// again of the logits that are left.
#include "kernels/zoo/top_p_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_top_p_softmax_ascending(const softcheck_call* call) {
  return each_top_p_row(call, [](auto& row) {
    using Real = typename std::decay_t<decltype(row)>::Number;
    const std::vector<Real> p = row.softmax();
    std::vector<std::size_t> order = row.descending(p);
    std::vector<bool> kept(row.size(), true);
    Real from_below = 0;
    for (std::size_t k = order.size(); row.top_p != 0 && k-- > 1;) {
      from_below += p[order[k]];
      if (from_below <= 1 - row.top_p) kept[order[k]] = false;
    }
    row.above_min_p(p, kept);
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (!kept[i]) row.logits[i] = -std::numeric_limits<Real>::infinity();
    }
    row.out = row.softmax();
  });
}
