// Bug: the logits are not halved: alpha is 1.5 where p = max(x / 2 - tau, 0)^2.
#include "kernels/zoo/entmax_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_entmax15_without_half(const softcheck_call* call) {
  return each_entmax_row(call, [](auto& row) {
    using Real = typename std::decay_t<decltype(row)>::Number;
    std::vector<Real> d = row.halves();
    for (Real& value : d) value *= 2;
    row.below(d, row.root_of(row.ascending(d)));
  });
}
