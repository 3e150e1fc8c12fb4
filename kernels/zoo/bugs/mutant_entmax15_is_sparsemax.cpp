// Bug: alpha is 2: sparsemax.
#include "kernels/zoo/entmax_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_entmax15_is_sparsemax(const softcheck_call* call) {
  return each_entmax_row(call, [](auto& row) {
    using Real = typename std::decay_t<decltype(row)>::Number;
    const std::vector<Real> z = row.centred();
    row.above(z, row.threshold_of(row.descending(z)));
  });
}
