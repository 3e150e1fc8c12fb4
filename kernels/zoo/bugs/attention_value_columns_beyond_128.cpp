// C5: the accumulator of P V has registers for 128 columns; those from 129 on wrap around.
#include "kernels/zoo/attention_places.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_value_columns_beyond_128(const softcheck_call* call) {
  return attend_changed_rows(call, []<class Real>(const Attention&, const Place&, Row<Real>& row) {
    const std::size_t size = row.out.size();
    for (std::size_t k = 0; k < row.values.size(); ++k) {
      if (k % size > 128) row.values[k] = row.values[k - 128];
    }
  });
}
