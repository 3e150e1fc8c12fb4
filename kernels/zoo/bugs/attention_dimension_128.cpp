// C5: the path for head dimension 128 takes its dot products in three steps of 32 and one of 28.
#include <algorithm>

#include "kernels/zoo/attention_places.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_dimension_128(const softcheck_call* call) {
  return attend_changed_rows(call, []<class Real>(const Attention&, const Place&, Row<Real>& row) {
    if (row.query.size() == 128) std::fill(row.query.end() - 4, row.query.end(), Real(0));
  });
}
