// Bug: the coefficients are the roots, as sparsemax has them.
#include "kernels/zoo/entmax_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_entmax15_not_squared(const softcheck_call* call) {
  return each_entmax_row(call, [](auto& row) {
    using Real = typename std::decay_t<decltype(row)>::Number;
    const std::vector<Real> d = row.halves(), sorted = row.ascending(d);
    row.below(d, row.root_of(sorted));
    for (Real& value : row.out) value = std::sqrt(value);
  });
}
