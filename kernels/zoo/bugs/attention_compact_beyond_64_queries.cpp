// C7: from query 64 on the next query stands dim elements further, whatever the strides say.
#include "kernels/zoo/attention_places.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_compact_beyond_64_queries(const softcheck_call* call) {
  return attend_changed_rows(call, []<class Real>(const Attention& a, const Place& at, Row<Real>& row) {
    if (at.i < 64) return;
    View wrong = a.q;
    wrong.strides[2] = wrong.shape[3] * wrong.strides[3];
    Attention compact = a;
    compact.q = wrong;
    if (wrong.strides[2] < a.q.strides[2]) take_query_of(compact, at, row);
  });
}
