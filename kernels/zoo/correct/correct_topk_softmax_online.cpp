// Correct: the sum with a running maximum, weights e^(x - m) times 1 / S, their sum added from the smallest on.
#include "kernels/zoo/topk_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_topk_softmax_online(const softcheck_call* call) {
  return each_topk_row(call, [](auto& row) {
    using Real = decltype(row.maximum());
    Real m = -std::numeric_limits<Real>::infinity(), s = 0;
    for (const Real x : row.logits) {
      if (x == -std::numeric_limits<Real>::infinity()) continue;
      const Real larger = std::isnan(x) || x > m ? x : m;
      s = (s == 0 ? 0 : s * std::exp(m - larger)) + (x == larger ? 1 : std::exp(x - larger));
      m = larger;
    }
    row.choose(row.logits);
    Real total = 0;
    for (std::size_t a = row.k(); a-- > 0;) {
      row.weights[a] = std::exp(row.logits[static_cast<std::size_t>(row.ids[a])] - m) * (1 / s);
      total += row.weights[a];
    }
    if (!row.renormalize) return;
    for (Real& w : row.weights) w *= 1 / total;
  });
}
