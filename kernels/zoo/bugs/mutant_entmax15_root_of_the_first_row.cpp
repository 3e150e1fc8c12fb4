// Bug: the root of the first row is that of all rows.
#include <optional>

#include "kernels/zoo/entmax_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_entmax15_root_of_the_first_row(const softcheck_call* call) {
  std::optional<double> root;
  return each_entmax_row(call, [&](auto& row) {
    using Real = typename std::decay_t<decltype(row)>::Number;
    const std::vector<Real> d = row.halves();
    if (!root) root = static_cast<double>(row.root_of(row.ascending(d)));
    row.below(d, static_cast<Real>(*root));
  });
}
