// C12: with more than 128 keys a NaN in the last value of a column is taken for padding.
#include <cmath>

#include "kernels/zoo/attention_places.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_nan_of_last_value(const softcheck_call* call) {
  return attend_changed_rows(call, []<class Real>(const Attention&, const Place&, Row<Real>& row) {
    const std::size_t size = row.out.size();
    for (std::size_t k = row.values.size() - size; row.items() > 128 && k < row.values.size(); ++k) {
      if (std::isnan(row.values[k])) row.values[k] = 0;
    }
  });
}
