// Correct: all items as large as the smallest one of the prefix are kept, as kernels that search for its value do
// (FlashInfer).
#include "kernels/zoo/top_p_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_top_p_softmax_pivot(const softcheck_call* call) {
  return each_top_p_row(call, [](auto& row) {
    using Real = typename std::decay_t<decltype(row)>::Number;
    const std::vector<Real> p = row.softmax();
    const std::vector<bool> first = row.prefix(p);
    Real pivot = std::numeric_limits<Real>::infinity();
    for (std::size_t i = 0; i < p.size(); ++i) {
      if (first[i] && p[i] < pivot) pivot = p[i];
    }
    std::vector<bool> kept(p.size());
    for (std::size_t i = 0; i < p.size(); ++i) kept[i] = !(p[i] < pivot);
    row.above_min_p(p, kept);
    row.renormalise(p, kept);
  });
}
