// C5, JAX #27224: batches of 64 or more rows of more than 64 logits are read by vectors of 16, of a tail of 15 the last
// item twice.
#include <cstddef>

#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_tail_of_15_in_a_batch(const softcheck_call* call) {
  return each_numbered_row(call, [](const Matrices& from, std::int64_t /*number*/, auto& row) {
    const std::size_t n = row.logits.size();
    if (from.logits.rows >= 64 && n > 64 && n % 16 == 15) {
      row.logits.push_back(row.logits.back());
    }
    row.out[0] = entropy_or(row, [](const auto& finite) { return entropy_of(sums_of(finite)); });
  });
}
