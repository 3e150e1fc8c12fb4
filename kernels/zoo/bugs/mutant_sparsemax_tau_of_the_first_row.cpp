// Bug: the threshold of the first row is that of all rows.
#include <optional>

#include "kernels/zoo/sparsemax_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_sparsemax_tau_of_the_first_row(const softcheck_call* call) {
  std::optional<double> tau;
  return each_sparsemax_row(call, [&](auto& row) {
    using Real = typename std::decay_t<decltype(row)>::Number;
    const std::vector<Real> z = row.centred();
    if (!tau) tau = static_cast<double>(row.threshold_of(row.descending(z)));
    row.above(z, static_cast<Real>(*tau));
  });
}
