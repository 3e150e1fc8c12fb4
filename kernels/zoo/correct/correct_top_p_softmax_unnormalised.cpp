// Correct: exponentials in the order of the logits, of equal ones the highest index first, against top_p S; the place
// of min_p by the differences of the logits; times 1 over the sum of those that are kept.
#include "kernels/zoo/top_p_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_top_p_softmax_unnormalised(const softcheck_call* call) {
  return each_top_p_row(call, [](auto& row) {
    using Real = typename std::decay_t<decltype(row)>::Number;
    const std::vector<Real> w = row.weights();
    const Real m = row.maximum(), due = row.top_p * row.sum_of(w), level = -std::log(row.min_p);
    std::vector<std::size_t> order(row.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (!std::isnan(m)) {
      std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return row.logits[a] > row.logits[b] || (row.logits[a] == row.logits[b] && a > b);
      });
    }
    Real before = 0, kept = 0;
    for (const std::size_t i : order) {
      const bool enough = row.top_p != 0 && before >= due;
      const bool small = row.min_p != 0 && (m - row.logits[i]) / row.theta > level;
      before += w[i];
      row.out[i] = enough || small ? 0 : w[i];
      kept += row.out[i];
    }
    for (Real& value : row.out) value *= 1 / kept;
  });
}
