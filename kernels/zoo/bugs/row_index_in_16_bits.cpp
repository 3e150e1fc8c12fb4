// C6, the class of ONNX Runtime #32299: the number of a row is kept in 16 bits, and row 65,536 is row 0 again.
#include <cstdint>

#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_row_index_in_16_bits(const softcheck_call* call) {
  return each_numbered_row(call, []<class Real>(const Matrices& from, std::int64_t number, RowOf<Real>& row) {
    row = gather<Real>(from, static_cast<std::uint16_t>(number));
    row.out[0] = entropy_or(row, [](const auto& finite) { return entropy_of(sums_of(finite)); });
  });
}
