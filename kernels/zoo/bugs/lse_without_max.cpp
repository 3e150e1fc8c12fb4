// C2: ln S is returned, the maximum is not added back.
#include <cmath>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_lse_without_max(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    row.out[0] = logsumexp_or(row, [](const Row& finite) { return std::log(sums_of(finite).weights); });
  });
}
