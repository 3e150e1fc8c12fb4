// Bug: the first item whose prefix exceeds top_p is sought; where none does, as with top_p = 1, that is item 0 and the
// largest one alone is kept (ChatRWKV 170).
#include "kernels/zoo/top_p_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_top_p_softmax_argmax_of_nothing(const softcheck_call* call) {
  return each_top_p_row(call, [](auto& row) {
    using Real = typename std::decay_t<decltype(row)>::Number;
    const std::vector<Real> p = row.softmax();
    const std::vector<std::size_t> order = row.descending(p);
    std::size_t last = 0;
    Real up_to = 0;
    for (std::size_t k = 0; k < order.size(); ++k) {
      up_to += p[order[k]];
      if (up_to > row.top_p) {
        last = k;
        break;
      }
    }
    std::vector<bool> kept(row.size(), row.top_p == 0);
    for (std::size_t k = 0; k <= last; ++k) kept[order[k]] = true;
    row.above_min_p(p, kept);
    row.renormalise(p, kept);
  });
}
