// C6: the number of a query is held in eight bits.
#include "kernels/zoo/attention_places.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_query_in_eight_bits(const softcheck_call* call) {
  return attend_changed_rows(call, []<class Real>(const Attention& a, const Place& at, Row<Real>& row) {
    take_query_of(a, {at.b, at.h, at.i & 255}, row);
  });
}
