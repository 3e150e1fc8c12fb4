// C6: sixteen query heads; those beyond begin anew.
#include "kernels/zoo/attention_places.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_head_in_four_bits(const softcheck_call* call) {
  return attend_changed_rows(call, []<class Real>(const Attention& a, const Place& at, Row<Real>& row) {
    take_query_of(a, {at.b, at.h & 15, at.i}, row);
  });
}
