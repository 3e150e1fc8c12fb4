// C5: head dimension 256 does not fit one tile; the second half of the query is not added.
#include <algorithm>

#include "kernels/zoo/attention_places.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_dimension_256(const softcheck_call* call) {
  return attend_changed_rows(call, []<class Real>(const Attention&, const Place&, Row<Real>& row) {
    if (row.query.size() == 256) std::fill(row.query.begin() + 128, row.query.end(), Real(0));
  });
}
