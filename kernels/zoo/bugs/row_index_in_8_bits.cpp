// C6, llama.cpp #24912: the number of a row is kept in a byte; the 257th row is read where the first one lies.
#include <cstdint>
#include <optional>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_row_index_in_8_bits(const softcheck_call* call) {
  const std::optional<Matrices> matrices = matrices_of(*call);
  if (!matrices) {
    return 1;
  }
  std::int64_t number = 0;
  return each_row(*matrices, [&]<class Real>(RowOf<Real>& row) {
    row = gather<Real>(*matrices, static_cast<std::uint8_t>(number++));
    softmax(row);
  });
}

// The same of rows of eight items and more, which stand in no call of a thousand rows that a small effort lists.
SOFTCHECK_MUTANT mutant_row_index_in_8_bits_from_8_columns(const softcheck_call* call) {
  const std::optional<Matrices> matrices = matrices_of(*call);
  if (!matrices) {
    return 1;
  }
  std::int64_t number = 0;
  return each_row(*matrices, [&]<class Real>(RowOf<Real>& row) {
    const std::int64_t own = number++;
    if (row.logits.size() >= 8) row = gather<Real>(*matrices, static_cast<std::uint8_t>(own));
    softmax(row);
  });
}
