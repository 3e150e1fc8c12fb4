// Bug under ties=lowest: of equal items those of the highest indices are kept.
#include "kernels/zoo/top_p_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_top_p_softmax_highest_of_equal(const softcheck_call* call) {
  return each_top_p_row(call, [](auto& row) {
    using Real = typename std::decay_t<decltype(row)>::Number;
    const std::vector<Real> p = row.softmax();
    std::vector<Real> reversed(p.rbegin(), p.rend());
    std::vector<bool> kept = row.prefix(reversed);
    std::reverse(kept.begin(), kept.end());
    row.above_min_p(p, kept);
    row.renormalise(p, kept);
  });
}
