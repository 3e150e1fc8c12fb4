// Correct: items sorted by their logits, of equal ones the highest index first; weights computed for the chosen alone.
#include "kernels/zoo/topk_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_topk_softmax_sorted(const softcheck_call* call) {
  return each_topk_row(call, [](auto& row) {
    using Real = decltype(row.maximum());
    const Real m = row.maximum();
    Real s = 0;
    for (const Real x : row.logits) s += std::exp(x - m);
    std::vector<std::int32_t> order(row.items());
    std::iota(order.begin(), order.end(), 0);
    if (!std::isnan(m)) {
      std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
        const Real x = row.logits[static_cast<std::size_t>(a)], y = row.logits[static_cast<std::size_t>(b)];
        return x > y || (x == y && a > b);
      });
    }
    for (std::size_t a = 0; a < row.k(); ++a) {
      row.ids[a] = order[a];
      row.weights[a] = std::exp(row.logits[static_cast<std::size_t>(order[a])] - m) * (1 / s);
    }
    if (row.renormalize) row.divide_by_sum();
  });
}
