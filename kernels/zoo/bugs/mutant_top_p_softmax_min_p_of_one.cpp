// Bug: min_p is compared with the coefficients themselves, not with their share of the largest one.
#include "kernels/zoo/top_p_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_top_p_softmax_min_p_of_one(const softcheck_call* call) {
  return each_top_p_row(call, [](auto& row) {
    using Real = typename std::decay_t<decltype(row)>::Number;
    const std::vector<Real> p = row.softmax();
    std::vector<bool> kept = row.prefix(p);
    const std::size_t first = row.descending(p)[0];
    for (std::size_t i = 0; i < p.size(); ++i) {
      if (i != first && row.min_p != 0 && p[i] < row.min_p) kept[i] = false;
    }
    row.renormalise(p, kept);
  });
}
