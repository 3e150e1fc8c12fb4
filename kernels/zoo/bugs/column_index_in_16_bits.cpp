// C6, Paddle PR #43107: the column is counted in 16 bits: from the 65,536th on the row is read from its beginning
// again.
#include <cstddef>
#include <cstdint>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_column_index_in_16_bits(const softcheck_call* call) {
  return each_row(call, [](auto& row) {
    for (std::size_t i = 0; i < row.logits.size(); ++i) {
      row.logits[i] = row.logits[static_cast<std::uint16_t>(i)];
    }
    softmax(row);
  });
}
