// C12: a NaN is looked for in the first 300 keys; later NaN scores count as masked.
#include <cmath>

#include "kernels/zoo/attention_places.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_nan_beyond_300_keys(const softcheck_call* call) {
  return attend_changed_rows(call, []<class Real>(const Attention&, const Place&, Row<Real>& row) {
    for (std::size_t j = 300; j < row.items(); ++j) {
      if (std::isnan(score(row, j))) row.visible[j] = 0;
    }
  });
}
