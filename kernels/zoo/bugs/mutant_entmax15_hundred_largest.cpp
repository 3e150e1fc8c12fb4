// Bug: the support is looked for among the hundred largest items alone, as with entmax15(k=100) without its check that
// it ended there.
#include "kernels/zoo/entmax_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_entmax15_hundred_largest(const softcheck_call* call) {
  return each_entmax_row(call, [](auto& row) {
    using Real = typename std::decay_t<decltype(row)>::Number;
    const std::vector<Real> d = row.halves();
    std::vector<Real> sorted = row.ascending(d);
    if (sorted.size() > 100) sorted.resize(100);
    row.below(d, row.root_of(sorted));
  });
}
