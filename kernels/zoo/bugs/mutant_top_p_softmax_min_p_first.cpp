// Bug: min_p comes first and top_p is a share of what it left.
#include "kernels/zoo/top_p_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_top_p_softmax_min_p_first(const softcheck_call* call) {
  return each_top_p_row(call, [](auto& row) {
    using Real = typename std::decay_t<decltype(row)>::Number;
    const std::vector<Real> p = row.softmax();
    std::vector<bool> first(row.size(), true);
    row.above_min_p(p, first);
    row.renormalise(p, first);
    const std::vector<Real> left = row.out;
    std::vector<bool> kept = row.prefix(left);
    for (std::size_t i = 0; i < kept.size(); ++i) kept[i] = kept[i] && first[i];
    row.renormalise(p, kept);
  });
}
