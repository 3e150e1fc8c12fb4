// C5: head dimension 192 is padded to 256 with what the last tile held: its last 64 products are added twice.
#include "kernels/zoo/attention_places.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_dimension_192(const softcheck_call* call) {
  return attend_changed_rows(call, []<class Real>(const Attention&, const Place&, Row<Real>& row) {
    if (row.query.size() != 192) return;
    for (std::size_t t = 128; t < 192; ++t) row.query[t] *= 2;
  });
}
